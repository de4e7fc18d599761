// SPDX-License-Identifier: Apache-2.0
// The small index maps: Concat, Slice, Take, Repeat, Shuffle.

#ifndef PONIENTE_INDEX_DATASETS_H_
#define PONIENTE_INDEX_DATASETS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "poniente/index_map_dataset.h"
#include "poniente/mixture_plan.h"

namespace poniente {

namespace internal {

std::shared_ptr<const NodeRecipe> ConcatRecipe();
std::shared_ptr<const NodeRecipe> SliceRecipe(std::string kind, uint64_t begin,
                                              uint64_t end);
std::shared_ptr<const NodeRecipe> RepeatRecipe(std::optional<uint64_t> times);
std::shared_ptr<const NodeRecipe> ShuffleRecipe(std::optional<uint64_t> seed);
absl::StatusOr<std::shared_ptr<const NodeRecipe>> CutRecipe(
    const MixtureOptions& options);

template <class T>
absl::StatusOr<DatasetPtr<T>> OverOne(std::shared_ptr<const NodeRecipe> recipe,
                                      DatasetPtr<T> child) {
  std::vector<NamedDataset<T>> children;
  children.push_back({"", std::move(child)});
  return IndexMapDataset<T>::Create(std::move(recipe), std::move(children));
}

}  // namespace internal

// The children one after the other, in the order given. Children without a
// name are called "0", "1", ... by their place. Growing children: what lies
// before the first one that still grows, and its readable part, can be read.
// Errors: InvalidArgument for an endless child that is not Take()n.
template <class T>
absl::StatusOr<DatasetPtr<T>> Concat(std::vector<NamedDataset<T>> children) {
  for (size_t i = 0; i < children.size(); ++i) {
    if (children[i].name.empty()) children[i].name = std::to_string(i);
  }
  return IndexMapDataset<T>::Create(internal::ConcatRecipe(),
                                    std::move(children));
}

// Items [begin, end) of a dataset, cut where it ends. Other items in each epoch
// if a node below has an order of its own. Of an endless dataset, which has no
// epochs, epoch e is the end - begin items after those of epoch e - 1: draws
// are counted through, and none is served twice.
// Errors: InvalidArgument if begin > end.
template <class T>
absl::StatusOr<DatasetPtr<T>> Slice(DatasetPtr<T> dataset, uint64_t begin,
                                    uint64_t end) {
  return internal::OverOne(internal::SliceRecipe("slice", begin, end),
                           std::move(dataset));
}

// The first n items, or all if there are fewer. Makes an endless dataset
// finite.
template <class T>
absl::StatusOr<DatasetPtr<T>> Take(DatasetPtr<T> dataset, uint64_t n) {
  return internal::OverOne(internal::SliceRecipe("take", 0, n),
                           std::move(dataset));
}

// `times` passes over a dataset, or endless ones. Pass e asks for epoch e, so a
// shuffle below has a new order in each.
// Errors: InvalidArgument for an empty dataset repeated endlessly, an endless
// one, or more than 2^63 items.
template <class T>
absl::StatusOr<DatasetPtr<T>> Repeat(
    DatasetPtr<T> dataset, std::optional<uint64_t> times = std::nullopt) {
  return internal::OverOne(internal::RepeatRecipe(times), std::move(dataset));
}

// One keyed permutation over the whole dataset, a new one in every epoch
// (index-math.md 1: derive(seed, "shuf", epoch)). Waits for the final length.
// seed: inherited from the parent unless stated here.
// Errors: InvalidArgument if the dataset is endless.
template <class T>
absl::StatusOr<DatasetPtr<T>> Shuffle(
    DatasetPtr<T> dataset, std::optional<uint64_t> seed = std::nullopt) {
  return internal::OverOne(internal::ShuffleRecipe(seed), std::move(dataset));
}

// The items of a dataset that is not a mixture, cut into samples by a schedule
// of sequence lengths as a mixture cuts its components' (max_seq_len, seq_lens,
// trim and group_items of the options, as Schedule::mixture_options() gives
// them; the rest is not looked at). The order of the items is the dataset's.
// Endless: epoch follows epoch. Errors: InvalidArgument for lengths as
// MixturePlan says, or for an empty dataset.
template <class T>
absl::StatusOr<DatasetPtr<T>> Cut(DatasetPtr<T> dataset,
                                  const MixtureOptions& options) {
  auto recipe = internal::CutRecipe(options);
  if (!recipe.ok()) return recipe.status();
  return internal::OverOne(*std::move(recipe), std::move(dataset));
}

}  // namespace poniente

#endif  // PONIENTE_INDEX_DATASETS_H_
