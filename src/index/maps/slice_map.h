// SPDX-License-Identifier: Apache-2.0
// Part of a dataset, in its order.

#ifndef PONIENTE_INDEX_MAPS_SLICE_MAP_H_
#define PONIENTE_INDEX_MAPS_SLICE_MAP_H_

#include <cstdint>
#include <optional>
#include <span>

#include "poniente/extend/index_map.h"

namespace poniente::internal {

// Items [begin, end) of the one child, which may be longer or endless. The
// epoch is passed on.
class SliceMap final : public IndexMap {
 public:
  // Creates the map. REQUIRES: begin <= end.
  SliceMap(uint64_t begin, uint64_t end);

  std::optional<uint64_t> length() const override { return end_ - begin_; }
  void Resolve(std::span<const Position> positions,
               std::span<ChildPosition> out) const override;
  std::optional<Position> Find(uint32_t child,
                               const Position& position) const override;
  std::optional<IndexSpan> SpanBelow(uint32_t child,
                                     const IndexSpan& span) const override;
  std::optional<uint64_t> PrefixParameters(
      const IndexSpan& span) const override;

 private:
  uint64_t begin_;
  uint64_t end_;
};

// Items [begin, begin + length) of an endless child in epoch 0, the `length`
// items after those in epoch 1, and so on. So no item of the child is served
// twice, and Find() has at most one answer.
class EndlessSliceMap final : public IndexMap {
 public:
  // Creates the map. REQUIRES: length >= 1.
  EndlessSliceMap(uint64_t begin, uint64_t length);

  std::optional<uint64_t> length() const override { return length_; }
  void Resolve(std::span<const Position> positions,
               std::span<ChildPosition> out) const override;
  std::optional<Position> Find(uint32_t child,
                               const Position& position) const override;
  std::optional<IndexSpan> SpanBelow(uint32_t child,
                                     const IndexSpan& span) const override;
  std::optional<uint64_t> PrefixParameters(
      const IndexSpan& span) const override;

 private:
  uint64_t begin_;
  uint64_t length_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_MAPS_SLICE_MAP_H_
