// SPDX-License-Identifier: Apache-2.0
// Datasets made from one dataset or from several in a row or in turn: Concat,
// Interleave, Slice, Take, Repeat, Shuffle, EraShuffle, BlockShuffle, Order,
// Filter, HoldOut, Cut.

#ifndef PONIENTE_TRANSFORMS_H_
#define PONIENTE_TRANSFORMS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "poniente/extend/index_map_dataset.h"
#include "poniente/mixture_plan.h"
#include "poniente/score_order.h"
#include "poniente/selection.h"
#include "poniente/shuffle.h"

namespace poniente {

namespace internal {

std::shared_ptr<const NodeRecipe> ConcatRecipe();
std::shared_ptr<const NodeRecipe> InterleaveRecipe(uint64_t block_items);
std::shared_ptr<const NodeRecipe> SliceRecipe(std::string kind, uint64_t begin,
                                              uint64_t end);
std::shared_ptr<const NodeRecipe> RepeatRecipe(std::optional<uint64_t> times);
absl::StatusOr<std::shared_ptr<const NodeRecipe>> CutRecipe(
    const MixtureOptions& options);
absl::StatusOr<std::shared_ptr<const NodeRecipe>> SuccessionRecipe(
    const MixtureOptions& options, std::vector<uint64_t> starts);
// Makes the recipe of a shuffle. `child` may be null; creating the node then
// fails. REQUIRES: the kind is not kNone.
absl::StatusOr<std::shared_ptr<const NodeRecipe>> ShuffleRecipe(
    const ShuffleOptions& options, const DatasetNode* child,
    std::optional<uint64_t> seed);

template <class T>
absl::StatusOr<DatasetPtr<T>> OverOne(std::shared_ptr<const NodeRecipe> recipe,
                                      DatasetPtr<T> child) {
  std::vector<NamedDataset<T>> children;
  children.push_back({"", std::move(child)});
  return IndexMapDataset<T>::Create(std::move(recipe), std::move(children));
}

template <class T>
absl::StatusOr<DatasetPtr<T>> OverSeveral(
    std::shared_ptr<const NodeRecipe> recipe,
    std::vector<NamedDataset<T>> children) {
  for (size_t i = 0; i < children.size(); ++i) {
    if (children[i].name.empty()) children[i].name = std::to_string(i);
  }
  return IndexMapDataset<T>::Create(std::move(recipe), std::move(children));
}

template <class T>
absl::StatusOr<DatasetPtr<T>> Shuffled(const ShuffleOptions& options,
                                       DatasetPtr<T> child,
                                       std::optional<uint64_t> seed) {
  auto recipe = ShuffleRecipe(options, child.get(), seed);
  if (!recipe.ok()) return recipe.status();
  return OverOne(*std::move(recipe), std::move(child));
}

}  // namespace internal

// Returns the children one after the other, in the order given. Children
// without a name are called "0", "1", ... by their place. While children grow,
// two parts can be read: all children before the first one that still grows,
// and the readable part of that child.
// Errors: InvalidArgument for an endless child; Take() a part of it first.
template <class T>
absl::StatusOr<DatasetPtr<T>> Concat(std::vector<NamedDataset<T>> children) {
  return internal::OverSeveral(internal::ConcatRecipe(), std::move(children));
}

// Returns the children in turn: `block_items` items of the first child, as many
// of the second, and so on, then the next block of each. A child that has ended
// is left out, and its last block may be short; the result ends when all
// children have ended, and is endless if one of them is. Children without a
// name are called "0", "1", ... by their place.
//
// As with Concat(), this is no order of its own: a shuffle or a mixture above
// permutes the items. Children that shuffle keep their order.
// Complexity: O(log children) per item while every child gives full blocks,
//     afterwards O(children).
// Growing dataset: as many rounds can be read as all growing children can fill.
// Errors: InvalidArgument unless 1 <= block_items <= 2^32, or if there are more
//     than 2^63 items.
template <class T>
absl::StatusOr<DatasetPtr<T>> Interleave(std::vector<NamedDataset<T>> children,
                                         uint64_t block_items = 1) {
  return internal::OverSeveral(internal::InterleaveRecipe(block_items),
                               std::move(children));
}

// Returns items [begin, end) of a dataset; fewer if the dataset ends earlier.
// If a node below has an order of its own, each epoch has different items at
// these indices. An endless dataset has no epochs. There, epoch 0 of the slice
// is items [begin, end), and each later epoch is the next end - begin items, so
// no item is served twice.
// Errors: InvalidArgument if begin > end.
template <class T>
absl::StatusOr<DatasetPtr<T>> Slice(DatasetPtr<T> dataset, uint64_t begin,
                                    uint64_t end) {
  return internal::OverOne(internal::SliceRecipe("slice", begin, end),
                           std::move(dataset));
}

// Returns the first n items, or all if there are fewer. Makes an endless
// dataset finite.
template <class T>
absl::StatusOr<DatasetPtr<T>> Take(DatasetPtr<T> dataset, uint64_t n) {
  return internal::OverOne(internal::SliceRecipe("take", 0, n),
                           std::move(dataset));
}

// Returns `times` passes over a dataset, or endless passes. Pass e asks for
// epoch e, so a shuffle below has a new order in each pass.
// Growing dataset: what it has of its first pass can be read.
// Errors: InvalidArgument for an empty dataset repeated endlessly, an endless
// dataset, or more than 2^63 items.
template <class T>
absl::StatusOr<DatasetPtr<T>> Repeat(
    DatasetPtr<T> dataset, std::optional<uint64_t> times = std::nullopt) {
  return internal::OverOne(internal::RepeatRecipe(times), std::move(dataset));
}

// Returns the dataset under one keyed permutation of all its items, a new one
// in every epoch (docs/index-math.md 1.1: derive(seed, "shuf", epoch)). Waits
// for the final length.
//
// seed: inherited from the parent unless stated here.
// Errors: InvalidArgument if the dataset is endless.
template <class T>
absl::StatusOr<DatasetPtr<T>> Shuffle(
    DatasetPtr<T> dataset, std::optional<uint64_t> seed = std::nullopt) {
  return internal::Shuffled(ShuffleOptions::Full(), std::move(dataset), seed);
}

// Returns the dataset with each era permuted within itself, under a new key in
// every epoch. Eras are items [0, era_items), the next era_items, and so on.
// Key and seed are as for Shuffle().
//
// Does not wait for the final length: on a growing dataset, complete eras can
// be read. On an endless dataset the result is endless. All its eras are
// complete, except one that would cross index 2^62.
// Errors: InvalidArgument if era_items is 0 or there are more than 2^63 items.
template <class T>
absl::StatusOr<DatasetPtr<T>> EraShuffle(
    DatasetPtr<T> dataset, uint64_t era_items,
    std::optional<uint64_t> seed = std::nullopt) {
  return internal::Shuffled(ShuffleOptions::Eras(era_items), std::move(dataset),
                            seed);
}

// Returns a shuffle that keeps to a few chunks of the dataset at a time, for
// stores with slow random access; see BlockShuffleOptions. For a store in local
// memory or on a fast disk, Shuffle() is as fast and mixes better. Waits for
// the final length. Key and seed are as for Shuffle().
// Errors: InvalidArgument if the dataset is endless, a size is 0, chunks are
//     stated both in tokens and in items, chunks are stated in tokens (the
//     default) but item_tokens() is 0, or there would be more than 2^63 items
//     if the last chunk were full.
template <class T>
absl::StatusOr<DatasetPtr<T>> BlockShuffle(
    DatasetPtr<T> dataset,
    const BlockShuffleOptions& options = BlockShuffleOptions(),
    std::optional<uint64_t> seed = std::nullopt) {
  return internal::Shuffled(ShuffleOptions::Blocks(options), std::move(dataset),
                            seed);
}

// Returns the items of a dataset that is not a mixture, cut into samples by a
// schedule of sequence lengths, as a mixture cuts the items of its components.
// Reads max_seq_len, seq_lens, trim, sample_overlap and group_items of
// `options`, as Schedule::mixture_options() returns them, and nothing else.
// Keeps the dataset's order of items. The result is endless: after each epoch
// of the dataset comes the next. Errors: InvalidArgument for lengths that
// MixturePlan refuses, or for an empty dataset.
template <class T>
absl::StatusOr<DatasetPtr<T>> Cut(DatasetPtr<T> dataset,
                                  const MixtureOptions& options) {
  auto recipe = internal::CutRecipe(options);
  if (!recipe.ok()) return recipe.status();
  return internal::OverOne(*std::move(recipe), std::move(dataset));
}

// A dataset that takes over from sample `start` on.
template <class T>
struct Successor {
  uint64_t start = 0;  // 0 for the first
  DatasetPtr<T> dataset = nullptr;
};

// Returns datasets that follow one another, without a mixture: windows of
// packed documents, by chunks, of the lengths of a schedule. Each continues the
// epoch of the one before, with the first shuffle window that has not been
// begun (docs/index-math.md 2.8). The result is endless. `options` as for
// Cut(). Like Cut(), passes its seed on.
// Errors: InvalidArgument for lengths that MixturePlan refuses, starts that do
// not increase from 0, an empty dataset, and datasets that do not have the same
// DatasetNode::item_sets().
template <class T>
absl::StatusOr<DatasetPtr<T>> Succession(std::vector<Successor<T>> successors,
                                         const MixtureOptions& options) {
  std::vector<uint64_t> starts;
  std::vector<NamedDataset<T>> children;
  for (Successor<T>& one : successors) {
    const auto view = static_cast<uint32_t>(children.size());
    starts.push_back(one.start);
    children.push_back({"", std::move(one.dataset), view});
  }
  auto recipe = internal::SuccessionRecipe(options, std::move(starts));
  if (!recipe.ok()) return recipe.status();
  return IndexMapDataset<T>::Create(*std::move(recipe), std::move(children));
}

// How an order shuffles items of similar score.
struct OrderOptions {
  // Items per bucket. The items of a bucket are shuffled among themselves, anew
  // in each epoch; the last bucket may be shorter. 0: no shuffling.
  uint64_t bucket_items = 0;
  // Number of buckets, instead of bucket_items: at most this many, all of one
  // size except the last. 0: bucket_items decides.
  uint64_t buckets = 0;
  // Key of the shuffling. Unset: derived from the parent's seed when the tree
  // is built; 0 at the root.
  std::optional<uint64_t> seed = std::nullopt;
};

namespace internal {

// Makes the recipe of an order. Errors as Order().
absl::StatusOr<std::shared_ptr<const NodeRecipe>> OrderRecipe(
    ScoreOrder order, const OrderOptions& options);

}  // namespace internal

// Returns the items of a dataset in the order of their scores: a curriculum. A
// mixture does not permute it.
//
// Determinism: without buckets, `order` alone decides. With buckets, the seed
//     and the epoch also count: an era shuffle (docs/index-math.md 3) is
//     applied, whose eras are the buckets.
// Complexity: that of ScoreOrder. With buckets, a request also creates a
//     permutation for each series of successive indices in the same bucket.
// Growing dataset: waits for the final length.
// Errors: InvalidArgument if the dataset is endless, does not have order.size()
//     items, or if both kinds of buckets are stated. DataLoss, from GetAt() and
//     everything else that resolves an index, once the order's file was found
//     damaged or cut short.
template <class T>
absl::StatusOr<DatasetPtr<T>> Order(
    DatasetPtr<T> dataset, ScoreOrder order,
    const OrderOptions& options = OrderOptions()) {
  auto recipe = internal::OrderRecipe(std::move(order), options);
  if (!recipe.ok()) return recipe.status();
  return internal::OverOne(*std::move(recipe), std::move(dataset));
}

namespace internal {

std::shared_ptr<const NodeRecipe> FilterRecipe(Selection selection);
// Returns OK if the dataset's items can be held out: its length is final, and
// each index has one item that is the same in every epoch and has no other
// index.
absl::Status CheckHoldOut(const DatasetNode* dataset);
absl::Status CheckHeldItems(uint64_t items, uint64_t length);
absl::Status CheckHeldFraction(double fraction, const Selection& held);

}  // namespace internal

// Returns the selected items of a dataset, in their order. The selection counts
// the items that the dataset yields: windows of a store, or documents.
//
// For a threshold that differs per stage, create one Filter per threshold over
// one shared dataset. If the dataset has an order of its own (Shuffle,
// FlatMixture), the selection selects places in that order, which hold other
// items in each epoch. Filter the dataset below it instead.
//
// Complexity: that of Selection; all copies of a node share its bitmap.
// Growing dataset: waits for the final length.
// Errors: InvalidArgument if the dataset is endless or does not have
//     selection.size() items.
template <class T>
absl::StatusOr<DatasetPtr<T>> Filter(DatasetPtr<T> dataset,
                                     Selection selection) {
  return internal::OverOne(internal::FilterRecipe(std::move(selection)),
                           std::move(dataset));
}

// Two parts of a dataset: every item is in exactly one of them.
template <class T>
struct HeldOut {
  DatasetPtr<T> train = nullptr;
  DatasetPtr<T> validation = nullptr;
};

// Holds out the last `items` items.
// Errors: InvalidArgument unless 0 < items < length. InvalidArgument also if
// the dataset is endless, repeats a dataset, contains a leaf twice, or has an
// order of its own, because an item could then be both held out and trained on.
// FailedPrecondition if the dataset still grows.
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

// Holds out about `fraction` of the items by Selection::ByHash(). Whether an
// item is held out depends on its index, `fraction` and `seed`, so the same
// items stay held out if others are appended. The seed is never inherited:
// trees with different seeds hold out the same items.
// Errors: InvalidArgument unless 0 < fraction < 1, or if the hash selects no
// item or all items; otherwise as HoldOutLast().
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

#endif  // PONIENTE_TRANSFORMS_H_
