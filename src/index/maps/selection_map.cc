// SPDX-License-Identifier: Apache-2.0
#include "index/maps/selection_map.h"

#include <algorithm>
#include <cstddef>

#include "util/check.h"

namespace poniente::internal {
namespace {

// Indices looked up together; they stay on the stack.
constexpr size_t kSelectionBatch = 256;

}  // namespace

void SelectionMap::Resolve(std::span<const Position> positions,
                           std::span<ChildPosition> out) const {
  PONIENTE_CHECK(positions.size() == out.size()) << positions.size();
  uint64_t indices[kSelectionBatch];
  for (size_t at = 0; at < positions.size();) {
    const size_t count = std::min(kSelectionBatch, positions.size() - at);
    for (size_t i = 0; i < count; ++i) indices[i] = positions[at + i].index;
    selection_.Select({indices, count}, {indices, count});
    for (size_t i = 0; i < count; ++i, ++at) {
      out[at] = {0, positions[at]};
      out[at].position.index = indices[i];
    }
  }
}

std::optional<Position> SelectionMap::Find(uint32_t child,
                                           const Position& position) const {
  if (child != 0) return std::nullopt;
  const std::optional<uint64_t> place = selection_.OrdinalOf(position.index);
  if (!place.has_value()) return std::nullopt;
  Position found = position;
  found.index = *place;
  return found;
}

}  // namespace poniente::internal
