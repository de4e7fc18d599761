// SPDX-License-Identifier: Apache-2.0
// Part of a dataset by a selection, and hold-out: two parts that share nothing.

#ifndef PONIENTE_FILTER_H_
#define PONIENTE_FILTER_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/index_datasets.h"
#include "poniente/selection.h"

namespace poniente {

namespace internal {

std::shared_ptr<const NodeRecipe> FilterRecipe(Selection selection);
// Ok if the dataset's items can be held out: its length is final, and index x
// is the same item in every epoch and nowhere else.
absl::Status CheckHoldOut(const DatasetNode* dataset);
absl::Status CheckHeldItems(uint64_t items, uint64_t length);
absl::Status CheckHeldFraction(double fraction, const Selection& held);

}  // namespace internal

// The selected items of a dataset, in their order. It counts what the dataset
// yields: windows of a store, or documents.
//
// A threshold that differs per stage: one Filter per threshold over one shared
// dataset. Where the dataset has an order of its own (Shuffle, FlatMixture) the
// selection is of places in that order, other items in each epoch; filter what
// lies below it instead.
// Complexity: that of Selection; its bitmap is shared by all copies of a node.
// Growing dataset: waits for the final length.
// Errors: InvalidArgument if the dataset is endless, or has another number of
//     items than selection.size().
template <class T>
absl::StatusOr<DatasetPtr<T>> Filter(DatasetPtr<T> dataset,
                                     Selection selection) {
  return internal::OverOne(internal::FilterRecipe(std::move(selection)),
                           std::move(dataset));
}

// Every item of a dataset is in one of the two, and none in both.
template <class T>
struct HeldOut {
  DatasetPtr<T> train;
  DatasetPtr<T> validation;
};

// Holds out the last `items` items.
// Errors: InvalidArgument unless 0 < items < length; or if the dataset is
//     endless, repeats one, has a leaf twice, or has an order of its own: an
//     item could then be held out and trained on. FailedPrecondition if the
//     dataset still grows.
template <class T>
absl::StatusOr<HeldOut<T>> HoldOutLast(DatasetPtr<T> dataset, uint64_t items) {
  absl::Status checked = internal::CheckHoldOut(dataset.get());
  if (!checked.ok()) return checked;
  const uint64_t length = dataset->length_now().readable;
  checked = internal::CheckHeldItems(items, length);
  if (!checked.ok()) return checked;
  auto train = Slice(dataset, 0, length - items);
  if (!train.ok()) return train.status();
  auto validation = Slice(std::move(dataset), length - items, length);
  if (!validation.ok()) return validation.status();
  return HeldOut<T>{*std::move(train), *std::move(validation)};
}

// Holds out about `fraction` of the items: Selection::ByHash(). An item's index
// and `seed` decide, so an item stays held out when others are appended. The
// seed is never inherited: trees with different seeds hold out the same items.
// Errors: InvalidArgument unless 0 < fraction < 1, or if that selects no item
//     or all of them; else as HoldOutLast().
template <class T>
absl::StatusOr<HeldOut<T>> HoldOutFraction(DatasetPtr<T> dataset,
                                           double fraction, uint64_t seed = 0) {
  absl::Status checked = internal::CheckHoldOut(dataset.get());
  if (!checked.ok()) return checked;
  auto held = Selection::ByHash(dataset->length_now().readable, fraction, seed);
  if (!held.ok()) return held.status();
  checked = internal::CheckHeldFraction(fraction, *held);
  if (!checked.ok()) return checked;
  auto others = held->Complement();
  if (!others.ok()) return others.status();
  auto train = Filter(dataset, *std::move(others));
  if (!train.ok()) return train.status();
  auto validation = Filter(std::move(dataset), *std::move(held));
  if (!validation.ok()) return validation.status();
  return HeldOut<T>{*std::move(train), *std::move(validation)};
}

}  // namespace poniente

#endif  // PONIENTE_FILTER_H_
