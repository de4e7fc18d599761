// SPDX-License-Identifier: Apache-2.0
// The pure contract of a node: an index resolves to (child, child's index),
// and back. No I/O, no coroutine, no allocation per index.

#ifndef PONIENTE_EXTEND_INDEX_MAP_H_
#define PONIENTE_EXTEND_INDEX_MAP_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"

namespace poniente {

// Counts items. Below 2^62 for samples of a mixture, below 2^63 for lengths.
using Index = uint64_t;

inline constexpr uint32_t kWholeItem = UINT32_MAX;

// An item as nodes ask each other for it: which one, in which pass over the
// data, and, for token items, which part of it.
struct Position {
  // Place within one epoch, below the length of the dataset.
  Index index = 0;
  // Which pass; keys the order of nodes that shuffle. The others hand it on.
  uint64_t epoch = 0;
  // Tokens [part_begin, part_begin + part_length) of the item; kWholeItem is
  // all of it (with part_begin 0). Handed down unchanged to the leaves.
  uint32_t part_begin = 0;
  uint32_t part_length = kWholeItem;

  friend bool operator==(const Position&, const Position&) = default;
};

struct ChildPosition {
  // Number of the child, in the order of declaration.
  uint32_t child = 0;
  Position position;

  friend bool operator==(const ChildPosition&, const ChildPosition&) = default;
};

// Every position from `first` to `last`, both included, epoch by epoch. Parts
// have no meaning here.
struct IndexSpan {
  Position first;
  Position last;

  friend bool operator==(const IndexSpan&, const IndexSpan&) = default;
};

// A position that reads an item of a child, or a part of one.
struct FoundPart {
  Position position;
  uint32_t part_begin = 0;
  uint32_t part_length = kWholeItem;

  friend bool operator==(const FoundPart&, const FoundPart&) = default;
};

// Maps the positions of a node to positions of its children, one to one.
//
// Determinism: a pure function of what it was made from.
// Thread safety: immutable; any number of threads.
class IndexMap {
 public:
  IndexMap() = default;
  IndexMap(const IndexMap&) = delete;
  IndexMap& operator=(const IndexMap&) = delete;
  virtual ~IndexMap();

  // Items per epoch; nullopt if endless.
  virtual std::optional<uint64_t> length() const = 0;

  // Of a finite map: it may be read for one epoch only.
  virtual bool has_one_epoch() const { return false; }

  // Writes to out[i] where positions[i] comes from. Consecutive indices in one
  // call are cheaper than one call each.
  // REQUIRES: out.size() == positions.size(); each index < length() (< 2^62 if
  // endless).
  virtual void Resolve(std::span<const Position> positions,
                       std::span<ChildPosition> out) const = 0;

  // The way back: the one position of this node that resolves to `position` of
  // `child`, its part kept; nullopt if none does.
  virtual std::optional<Position> Find(uint32_t child,
                                       const Position& position) const = 0;

  // Appends every position of this node that reads the item, or part of it, at
  // the index and epoch of `whole`, with the part it reads. By default, for
  // maps that never cut items: what Find() gives.
  virtual void FindParts(uint32_t child, const Position& whole,
                         std::vector<FoundPart>* found) const;

  // Positions of `child` that the span's may resolve to, at least those;
  // nullopt for none. Where the span begins and ends with whole blocks, their
  // epochs are exact. By default, for maps that hand on the epoch: all of the
  // same epochs.
  virtual std::optional<IndexSpan> SpanBelow(uint32_t child,
                                             const IndexSpan& span) const;

  // What the node's parameters, but for its seed and the weights of a mixture,
  // contribute to the positions up to the span's last: equal for nodes that
  // differ behind them only. 0 if nothing, as though the node were not there;
  // nullopt if all of them do (by default). An index at or past the length is
  // the end of the epoch: then where that lies counts as well.
  virtual std::optional<uint64_t> PrefixParameters(const IndexSpan& span) const;

  // What Resolve() and Find() have given so far is worth nothing unless this is
  // ok: for maps whose tables lie in a file. Ask after them.
  virtual absl::Status status() const { return absl::OkStatus(); }
};

}  // namespace poniente

#endif  // PONIENTE_EXTEND_INDEX_MAP_H_
