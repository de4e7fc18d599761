// SPDX-License-Identifier: Apache-2.0
// A dataset in the order of a score, shuffled inside buckets of places.

#ifndef PONIENTE_INDEX_MAPS_ORDER_MAP_H_
#define PONIENTE_INDEX_MAPS_ORDER_MAP_H_

#include <cstdint>
#include <optional>
#include <span>

#include "index/maps/epoch_shuffle.h"
#include "poniente/extend/index_map.h"
#include "poniente/score_order.h"

namespace poniente::internal {

// Item x of epoch e is the child's item at place p of the order. Without
// buckets p is x; with them it is place x of an era shuffle (ItemOrder) whose
// eras are the buckets. The epoch is passed on.
class OrderMap final : public IndexMap {
 public:
  // Creates the map. bucket_items: 0 for no buckets.
  OrderMap(ScoreOrder order, uint64_t bucket_items, uint64_t seed);

  std::optional<uint64_t> length() const override { return order_.size(); }
  void Resolve(std::span<const Position> positions,
               std::span<ChildPosition> out) const override;
  std::optional<Position> Find(uint32_t child,
                               const Position& position) const override;
  absl::Status status() const override { return order_.status(); }
  // Returns whether epochs differ.
  bool has_buckets() const { return has_buckets_; }

 private:
  const ScoreOrder order_;
  const EpochShuffle shuffle_;
  const bool has_buckets_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_MAPS_ORDER_MAP_H_
