// SPDX-License-Identifier: Apache-2.0
// A dataset in a shuffled order, a new one in each epoch.

#ifndef PONIENTE_INDEX_MAPS_SHUFFLE_MAP_H_
#define PONIENTE_INDEX_MAPS_SHUFFLE_MAP_H_

#include <cstdint>
#include <optional>
#include <span>

#include "index/maps/epoch_shuffle.h"
#include "index/permutation/item_order.h"
#include "poniente/extend/index_map.h"

namespace poniente::internal {

// Shuffles a dataset. The epoch keys the order and is passed on.
class ShuffleMap final : public IndexMap {
 public:
  // Creates the map. length: nullopt if endless; the order is then that of 2^62
  // items, which only eras can serve. REQUIRES: CheckOrder(spec, length) is ok;
  // the kind is kEras if endless.
  ShuffleMap(std::optional<uint64_t> length, uint64_t seed,
             const OrderSpec& spec = {});

  std::optional<uint64_t> length() const override { return length_; }
  void Resolve(std::span<const Position> positions,
               std::span<ChildPosition> out) const override;
  std::optional<Position> Find(uint32_t child,
                               const Position& position) const override;
  // For an endless map, returns the eras that the span touches.
  std::optional<IndexSpan> SpanBelow(uint32_t child,
                                     const IndexSpan& span) const override;

  // Returns the items per era; 1 for other kinds.
  uint64_t era_items() const { return era_items_; }

 private:
  std::optional<uint64_t> length_;
  uint64_t era_items_;
  EpochShuffle shuffle_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_MAPS_SHUFFLE_MAP_H_
