// SPDX-License-Identifier: Apache-2.0
// Short names for the kinds of orders.

#ifndef PONIENTE_TESTS_INDEX_ORDER_SPECS_H_
#define PONIENTE_TESTS_INDEX_ORDER_SPECS_H_

#include <cstdint>
#include <ostream>

#include "index/permutation/item_order.h"

namespace poniente::internal {

inline OrderSpec Stored() { return {.kind = ShuffleKind::kNone}; }
inline OrderSpec Full() { return {.kind = ShuffleKind::kFull}; }
inline OrderSpec Eras(uint64_t era) {
  return {.kind = ShuffleKind::kEras, .era_items = era};
}
inline OrderSpec Blocks(uint64_t chunk, uint64_t window) {
  return {.kind = ShuffleKind::kBlocks,
          .chunk_items = chunk,
          .window_chunks = window};
}

inline void PrintTo(const OrderSpec& spec, std::ostream* out) {
  switch (spec.kind) {
    case ShuffleKind::kNone:
      *out << "as stored";
      break;
    case ShuffleKind::kFull:
      *out << "full";
      break;
    case ShuffleKind::kEras:
      *out << "eras of " << spec.era_items;
      break;
    case ShuffleKind::kBlocks:
      *out << "windows of " << spec.window_chunks << " chunks of "
           << spec.chunk_items;
      break;
  }
}

}  // namespace poniente::internal

#endif  // PONIENTE_TESTS_INDEX_ORDER_SPECS_H_
