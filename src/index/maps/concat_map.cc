// SPDX-License-Identifier: Apache-2.0
#include "index/maps/concat_map.h"

#include <cstddef>

#include "util/check.h"
#include "util/status_macros.h"

namespace poniente::internal {

absl::StatusOr<std::unique_ptr<ConcatMap>> ConcatMap::Create(
    std::span<const uint64_t> lengths) {
  PONIENTE_ASSIGN_OR_RETURN(CumulativeLengths cumulative,
                            CumulativeLengths::Create(lengths));
  return std::unique_ptr<ConcatMap>(new ConcatMap(std::move(cumulative)));
}

void ConcatMap::Resolve(std::span<const Position> positions,
                        std::span<ChildPosition> out) const {
  PONIENTE_CHECK(positions.size() == out.size()) << positions.size();
  for (size_t i = 0; i < positions.size(); ++i) {
    const CumulativeLengths::PartIndex place =
        lengths_.Locate(positions[i].index);
    out[i] = {place.part, positions[i]};
    out[i].position.index = place.index;
  }
}

std::optional<Position> ConcatMap::Find(uint32_t child,
                                        const Position& position) const {
  const std::optional<uint64_t> index = lengths_.IndexOf(child, position.index);
  if (!index) return std::nullopt;
  Position found = position;
  found.index = *index;
  return found;
}

}  // namespace poniente::internal
