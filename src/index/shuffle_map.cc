// SPDX-License-Identifier: Apache-2.0
#include "index/shuffle_map.h"

namespace poniente::internal {

ShuffleMap::ShuffleMap(uint64_t length, uint64_t seed)
    : shuffle_(length, seed, kShuffleTag) {}

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

}  // namespace poniente::internal
