// SPDX-License-Identifier: Apache-2.0
// A dataset in the order of a score.

#ifndef PONIENTE_ORDER_H_
#define PONIENTE_ORDER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "poniente/index_datasets.h"
#include "poniente/score_order.h"

namespace poniente {

struct OrderOptions {
  // So many consecutive places are shuffled among themselves, anew in each
  // epoch; the last bucket may be short. 0: no shuffling.
  uint64_t bucket_items = 0;
  // Instead of bucket_items: at most so many buckets, of equal size but for the
  // last. 0: as bucket_items says.
  uint64_t buckets = 0;
  // Keys the shuffling. Unset: derived from the parent's when the tree is put
  // together; 0 at the root.
  std::optional<uint64_t> seed = std::nullopt;
};

namespace internal {

// Errors as Order says.
absl::StatusOr<std::shared_ptr<const NodeRecipe>> OrderRecipe(
    ScoreOrder order, const OrderOptions& options);

}  // namespace internal

// The items of a dataset in the order of their scores: a curriculum. A mixture
// does not permute it.
//
// Determinism: the order; with buckets also the seed and the epoch, by an era
//     shuffle (index-math.md 3) whose eras are the buckets.
// Complexity: that of ScoreOrder, and one permutation per run of items of one
//     bucket.
// Growing dataset: waits for the final length.
// Errors: InvalidArgument if the dataset is endless, has another number of
//     items than order.size(), or if both kinds of buckets are given. DataLoss,
//     from GetAt() and whatever else resolves an index, once the order's file
//     was found damaged or cut short.
template <class T>
absl::StatusOr<DatasetPtr<T>> Order(
    DatasetPtr<T> dataset, ScoreOrder order,
    const OrderOptions& options = OrderOptions()) {
  auto recipe = internal::OrderRecipe(std::move(order), options);
  if (!recipe.ok()) return recipe.status();
  return internal::OverOne(*std::move(recipe), std::move(dataset));
}

}  // namespace poniente

#endif  // PONIENTE_ORDER_H_
