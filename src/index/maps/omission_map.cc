// SPDX-License-Identifier: Apache-2.0
#include "index/maps/omission_map.h"

#include <cstddef>

#include "util/check.h"

namespace poniente::internal {

void OmissionMap::Resolve(std::span<const Position> positions,
                          std::span<ChildPosition> out) const {
  PONIENTE_CHECK(positions.size() == out.size()) << positions.size();
  for (size_t i = 0; i < positions.size(); ++i) {
    out[i] = {0, positions[i]};
    out[i].position.index = omissions_->Kept(positions[i].index);
  }
}

std::optional<Position> OmissionMap::Find(uint32_t child,
                                          const Position& position) const {
  if (child != 0 || position.index >= omissions_->length() ||
      omissions_->Contains(position.index)) {
    return std::nullopt;
  }
  Position found = position;
  found.index -= omissions_->CountBelow(position.index);
  return found;
}

}  // namespace poniente::internal
