// SPDX-License-Identifier: Apache-2.0
// Named datasets end to end in one order, as if `cat * | shuffle`.

#ifndef PONIENTE_INDEX_MAPS_FLAT_MAP_H_
#define PONIENTE_INDEX_MAPS_FLAT_MAP_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "index/maps/cumulative_lengths.h"
#include "index/maps/epoch_shuffle.h"
#include "index/mixture/canonical_order.h"
#include "index/permutation/item_order.h"
#include "poniente/extend/index_map.h"

namespace poniente::internal {

// Permutes an index among all items, then looks it up in the concatenation of
// the children in canonical order. Children may be empty. The epoch keys the
// permutation and is passed on. Eras and chunks may span children.
//
// Complexity: Create() O(children log children); O(log children) per index.
class FlatMap final : public IndexMap {
 public:
  // Returns the map. `lengths` and `names` are in order of declaration, one of
  // each per child. InvalidArgument if all children are empty, if together they
  // have more items than CheckOrder() allows, or if two have the same name.
  static absl::StatusOr<std::unique_ptr<FlatMap>> Create(
      std::span<const uint64_t> lengths, std::span<const std::string> names,
      uint64_t seed, const OrderSpec& spec = {});

  std::optional<uint64_t> length() const override { return lengths_.total(); }
  void Resolve(std::span<const Position> positions,
               std::span<ChildPosition> out) const override;
  std::optional<Position> Find(uint32_t child,
                               const Position& position) const override;

 private:
  FlatMap(CanonicalOrder order, CumulativeLengths lengths, uint64_t seed,
          const OrderSpec& spec);

  CanonicalOrder order_;
  CumulativeLengths lengths_;  // in canonical order
  EpochShuffle shuffle_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_MAPS_FLAT_MAP_H_
