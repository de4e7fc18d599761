// SPDX-License-Identifier: Apache-2.0
#include "index/order_map.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "index/keyed_hash.h"
#include "util/check.h"

namespace poniente::internal {
namespace {

// Indices looked up together; they stay on the stack.
constexpr size_t kBatch = 256;

}  // namespace

OrderMap::OrderMap(ScoreOrder order, uint64_t bucket_items, uint64_t seed)
    : order_(std::move(order)), bucket_items_(bucket_items), seed_(seed) {}

Permutation OrderMap::BucketOrder(uint64_t bucket, uint64_t epoch) const {
  const uint64_t begin = bucket * bucket_items_;
  const uint64_t epoch_key = Derive(seed_, kShuffleTag, epoch);
  return Permutation(std::min(bucket_items_, order_.size() - begin),
                     Derive(epoch_key, Tag("era"), bucket));
}

void OrderMap::Places(std::span<const Position> positions,
                      std::span<uint64_t> places) const {
  for (size_t i = 0; i < places.size(); ++i) {
    PONIENTE_CHECK(positions[i].index < order_.size()) << positions[i].index;
    places[i] = positions[i].index;
  }
  if (bucket_items_ == 0) return;
  // Runs within one bucket of one epoch are permuted together.
  for (size_t at = 0; at < places.size();) {
    const uint64_t epoch = positions[at].epoch;
    const uint64_t bucket = places[at] / bucket_items_;
    const uint64_t begin = bucket * bucket_items_;
    size_t end = at;
    for (; end < places.size() && positions[end].epoch == epoch &&
           places[end] / bucket_items_ == bucket;
         ++end) {
      places[end] -= begin;
    }
    const std::span<uint64_t> run = places.subspan(at, end - at);
    BucketOrder(bucket, epoch).Forward(run, run);
    for (uint64_t& place : run) place += begin;
    at = end;
  }
}

void OrderMap::Resolve(std::span<const Position> positions,
                       std::span<ChildPosition> out) const {
  PONIENTE_CHECK(positions.size() == out.size()) << positions.size();
  uint64_t indices[kBatch];
  for (size_t at = 0; at < positions.size();) {
    const size_t count = std::min(kBatch, positions.size() - at);
    Places(positions.subspan(at, count), {indices, count});
    order_.ItemsAt({indices, count}, {indices, count});
    for (size_t i = 0; i < count; ++i, ++at) {
      out[at] = {0, positions[at]};
      out[at].position.index = indices[i];
    }
  }
}

std::optional<Position> OrderMap::Find(uint32_t child,
                                       const Position& position) const {
  if (child != 0 || position.index >= order_.size()) return std::nullopt;
  const uint64_t place = order_.PlaceOf(position.index);
  Position found = position;
  found.index = place;
  if (bucket_items_ == 0) return found;
  const uint64_t bucket = place / bucket_items_;
  const uint64_t begin = bucket * bucket_items_;
  found.index =
      begin + BucketOrder(bucket, position.epoch).Inverse(place - begin);
  return found;
}

}  // namespace poniente::internal
