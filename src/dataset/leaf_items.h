// SPDX-License-Identifier: Apache-2.0
// What the items of a leaf of a tree consist of.

#ifndef PONIENTE_DATASET_LEAF_ITEMS_H_
#define PONIENTE_DATASET_LEAF_ITEMS_H_

#include "poniente/dataset_tree.h"
#include "poniente/extend/piecewise_items.h"

namespace poniente::internal {

// Return what the leaf implements; null also if a function makes other items of
// its items.
inline const PiecewiseItems* PiecesOf(const TreeLeaf& leaf) {
  return leaf.is_plain ? PiecesOf(*leaf.node) : nullptr;
}
inline const PackedItems* PackedItemsOf(const TreeLeaf& leaf) {
  return leaf.is_plain ? PackedItemsOf(*leaf.node) : nullptr;
}

}  // namespace poniente::internal

#endif  // PONIENTE_DATASET_LEAF_ITEMS_H_
