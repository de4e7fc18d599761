// SPDX-License-Identifier: Apache-2.0
// Computes the fingerprint of a permutation from the entries of its table.

#ifndef PONIENTE_INDEX_SELECTION_ORDER_TABLE_HASH_H_
#define PONIENTE_INDEX_SELECTION_ORDER_TABLE_HASH_H_

#include <cstdint>

#include "index/keyed_hash.h"

namespace poniente::internal {

// Covers the size and the items in the order of their places.
class OrderTableHash {
 public:
  explicit OrderTableHash(uint64_t size) : hash_(size) {
    hash_.Add(Tag("order"));
  }
  void Add(uint32_t item) { hash_.Add(item); }
  uint64_t Finish() const { return hash_.key(); }

 private:
  KeyHash hash_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_SELECTION_ORDER_TABLE_HASH_H_
