// SPDX-License-Identifier: Apache-2.0
// The pure contract of a node: an index resolves to a child and the child's
// index, and back. No I/O, no coroutine, no allocation per index.

#ifndef PONIENTE_EXTEND_INDEX_MAP_H_
#define PONIENTE_EXTEND_INDEX_MAP_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"

namespace poniente {

// Number of an item: below 2^62 for samples of a mixture, below 2^63 for
// lengths.
using Index = uint64_t;

// Position::part_length of a whole item.
inline constexpr uint32_t kWholeItem = UINT32_MAX;

// The way in which one node asks another for an item: which item, in which pass
// over the data, and, for token items, which part of it.
struct Position {
  // Place within one epoch, below the length of the dataset.
  Index index = 0;
  // Which pass over the dataset. It keys the order of nodes that shuffle; other
  // nodes pass it on.
  uint64_t epoch = 0;
  // Tokens [part_begin, part_begin + part_length) of the item; kWholeItem, with
  // part_begin 0, is all of it. A node that cuts items narrows the part; other
  // nodes pass it on unchanged.
  uint32_t part_begin = 0;
  uint32_t part_length = kWholeItem;

  friend bool operator==(const Position&, const Position&) = default;
};

// A position of one of a node's children.
struct ChildPosition {
  // Number of the child, in the order of declaration.
  uint32_t child = 0;
  Position position = {};

  friend bool operator==(const ChildPosition&, const ChildPosition&) = default;
};

// Every position from `first` to `last`, both included, epoch by epoch. Parts
// are ignored here.
struct IndexSpan {
  Position first = {};
  Position last = {};

  friend bool operator==(const IndexSpan&, const IndexSpan&) = default;
};

// A position that reads an item of a child or a part of it.
struct FoundPart {
  Position position = {};
  uint32_t part_begin = 0;
  uint32_t part_length = kWholeItem;

  friend bool operator==(const FoundPart&, const FoundPart&) = default;
};

// Maps the positions of a node to positions of its children, one to one.
//
// Determinism: a pure function of what the map was created from.
// Thread safety: immutable; any number of threads.
class IndexMap {
 public:
  IndexMap() = default;
  IndexMap(const IndexMap&) = delete;
  IndexMap& operator=(const IndexMap&) = delete;
  virtual ~IndexMap();

  // Returns the items per epoch; nullopt if endless.
  virtual std::optional<uint64_t> length() const = 0;

  // Returns whether a finite map may be read for one epoch only.
  virtual bool has_one_epoch() const { return false; }

  // Writes to out[i] where positions[i] comes from. One call for consecutive
  // indices is cheaper than one call for each. REQUIRES: out.size() ==
  // positions.size(); each index < length() (< 2^62 if endless).
  virtual void Resolve(std::span<const Position> positions,
                       std::span<ChildPosition> out) const = 0;

  // Returns the one position of this node that resolves to `position` of
  // `child`, with its part unchanged; nullopt if there is none.
  virtual std::optional<Position> Find(uint32_t child,
                                       const Position& position) const = 0;

  // Appends every position of this node that reads all or part of the item at
  // the index and epoch of `whole`, each with the part that it reads. The
  // default is for maps that never cut items: the result of Find().
  virtual void FindParts(uint32_t child, const Position& whole,
                         std::vector<FoundPart>* found) const;

  // Returns a span that contains all positions of `child` that `span` resolves
  // to; nullopt if there are none. If `span` begins and ends with whole blocks,
  // the epochs of the result are exact. The default is for maps that pass on
  // the epoch: all positions of the same epochs.
  virtual std::optional<IndexSpan> SpanBelow(uint32_t child,
                                             const IndexSpan& span) const;

  // Returns a hash of those of the node's parameters that affect the positions
  // up to the last of `span`, without its seed and the weights of a mixture.
  // Nodes that differ only after that position have the same hash. Returns 0 if
  // no parameter affects these positions, as though the node did not exist, and
  // nullopt (the default) if all parameters do. An index of `span` at or past
  // the length stands for the end of the epoch; the hash then also covers where
  // the epoch ends.
  virtual std::optional<uint64_t> PrefixParameters(const IndexSpan& span) const;

  // Returns whether the results of Resolve() and Find() so far are valid; check
  // it after the calls. Only maps whose tables lie in a file can fail.
  virtual absl::Status status() const { return absl::OkStatus(); }
};

}  // namespace poniente

#endif  // PONIENTE_EXTEND_INDEX_MAP_H_
