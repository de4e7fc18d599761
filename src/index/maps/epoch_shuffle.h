// SPDX-License-Identifier: Apache-2.0
// One order per epoch of a range of indices, shared by the nodes with an order
// of their own.

#ifndef PONIENTE_INDEX_MAPS_EPOCH_SHUFFLE_H_
#define PONIENTE_INDEX_MAPS_EPOCH_SHUFFLE_H_

#include <cstdint>
#include <span>

#include "index/keyed_hash.h"
#include "index/permutation/item_order.h"
#include "poniente/extend/index_map.h"

namespace poniente::internal {

// Orders epoch e under the key Derive(seed, tag, e) (docs/index-math.md 1.1).
//
// Thread safety: immutable; any number of threads.
class EpochShuffle {
 public:
  // Creates the orders. REQUIRES: CheckOrder(spec, length) is ok.
  EpochShuffle(uint64_t length, uint64_t seed, Tag tag, const OrderSpec& spec);

  uint64_t length() const { return length_; }

  // Writes to out[i], as child 0, positions[i] with its index permuted. Runs of
  // positions of one epoch are permuted together. REQUIRES: each index <
  // length().
  void Forward(std::span<const Position> positions,
               std::span<ChildPosition> out) const;

  // Inverts Forward() for one index. REQUIRES: index < length().
  uint64_t Inverse(uint64_t index, uint64_t epoch) const {
    return Order(epoch).Inverse(index);
  }

 private:
  ItemOrder Order(uint64_t epoch) const {
    return ItemOrder(length_, Derive(seed_, tag_, epoch), spec_);
  }

  uint64_t length_;
  uint64_t seed_;
  Tag tag_;
  OrderSpec spec_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_MAPS_EPOCH_SHUFFLE_H_
