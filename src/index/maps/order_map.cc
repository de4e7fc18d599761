// SPDX-License-Identifier: Apache-2.0
#include "index/maps/order_map.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "index/keyed_hash.h"
#include "index/permutation/item_order.h"
#include "util/check.h"

namespace poniente::internal {
namespace {

// Places looked up together; they stay on the stack.
constexpr size_t kPlaceBatch = 256;

OrderSpec SpecOf(uint64_t bucket_items) {
  if (bucket_items == 0) return {.kind = ShuffleKind::kNone};
  return {.kind = ShuffleKind::kEras, .era_items = bucket_items};
}

}  // namespace

OrderMap::OrderMap(ScoreOrder order, uint64_t bucket_items, uint64_t seed)
    : order_(std::move(order)),
      shuffle_(order_.size(), seed, kShuffleTag, SpecOf(bucket_items)),
      has_buckets_(bucket_items > 0) {}

void OrderMap::Resolve(std::span<const Position> positions,
                       std::span<ChildPosition> out) const {
  for (const Position& position : positions) {
    PONIENTE_CHECK(position.index < order_.size()) << position.index;
  }
  shuffle_.Forward(positions, out);
  uint64_t places[kPlaceBatch];
  for (size_t at = 0; at < out.size(); at += kPlaceBatch) {
    const auto here = out.subspan(at, std::min(kPlaceBatch, out.size() - at));
    for (size_t i = 0; i < here.size(); ++i) {
      places[i] = here[i].position.index;
    }
    order_.ItemsAt({places, here.size()}, {places, here.size()});
    for (size_t i = 0; i < here.size(); ++i) {
      here[i].position.index = places[i];
    }
  }
}

std::optional<Position> OrderMap::Find(uint32_t child,
                                       const Position& position) const {
  if (child != 0 || position.index >= order_.size()) return std::nullopt;
  Position found = position;
  found.index =
      shuffle_.Inverse(order_.PlaceOf(position.index), position.epoch);
  return found;
}

}  // namespace poniente::internal
