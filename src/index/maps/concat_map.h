// SPDX-License-Identifier: Apache-2.0
// Datasets end to end, in the order of declaration.

#ifndef PONIENTE_INDEX_MAPS_CONCAT_MAP_H_
#define PONIENTE_INDEX_MAPS_CONCAT_MAP_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "absl/status/statusor.h"
#include "index/maps/cumulative_lengths.h"
#include "poniente/extend/index_map.h"

namespace poniente::internal {

// Children end to end; they may be empty. The epoch is passed on.
class ConcatMap final : public IndexMap {
 public:
  // Returns the map; InvalidArgument if the lengths sum to more than 2^63.
  static absl::StatusOr<std::unique_ptr<ConcatMap>> Create(
      std::span<const uint64_t> lengths);

  std::optional<uint64_t> length() const override { return lengths_.total(); }
  void Resolve(std::span<const Position> positions,
               std::span<ChildPosition> out) const override;
  std::optional<Position> Find(uint32_t child,
                               const Position& position) const override;

 private:
  explicit ConcatMap(CumulativeLengths lengths)
      : lengths_(std::move(lengths)) {}

  CumulativeLengths lengths_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_MAPS_CONCAT_MAP_H_
