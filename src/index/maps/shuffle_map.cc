// SPDX-License-Identifier: Apache-2.0
#include "index/maps/shuffle_map.h"

#include <algorithm>

#include "index/max_samples.h"
#include "util/check.h"

namespace poniente::internal {
ShuffleMap::ShuffleMap(std::optional<uint64_t> length, uint64_t seed,
                       const OrderSpec& spec)
    : length_(length),
      era_items_(spec.era_items),
      shuffle_(length.value_or(kMaxSamples), seed, kShuffleTag, spec) {
  PONIENTE_CHECK(length.has_value() || spec.kind == ShuffleKind::kEras);
}

void ShuffleMap::Resolve(std::span<const Position> positions,
                         std::span<ChildPosition> out) const {
  shuffle_.Forward(positions, out);
}

std::optional<Position> ShuffleMap::Find(uint32_t child,
                                         const Position& position) const {
  if (child != 0 || position.index >= shuffle_.length()) return std::nullopt;
  Position found = position;
  found.index = shuffle_.Inverse(position.index, position.epoch);
  return found;
}

std::optional<IndexSpan> ShuffleMap::SpanBelow(uint32_t child,
                                               const IndexSpan& span) const {
  if (length_) return IndexMap::SpanBelow(child, span);
  const uint64_t first = std::min(span.first.index, kMaxSamples - 1);
  const uint64_t last = std::min(span.last.index, kMaxSamples - 1);
  const uint64_t left_of_era = era_items_ - 1 - last % era_items_;
  return IndexSpan{
      {.index = first - first % era_items_, .epoch = span.first.epoch},
      {.index = last + std::min(left_of_era, kMaxSamples - 1 - last),
       .epoch = span.last.epoch}};
}

}  // namespace poniente::internal
