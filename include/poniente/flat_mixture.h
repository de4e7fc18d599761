// SPDX-License-Identifier: Apache-2.0
// Named datasets end to end under one global shuffle.

#ifndef PONIENTE_FLAT_MIXTURE_H_
#define PONIENTE_FLAT_MIXTURE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "poniente/index_map_dataset.h"

namespace poniente {

struct FlatMixtureOptions {
  // Keys the order. Unset: derived from the parent's seed and this node's name
  // when the tree is put together; 0 at the root.
  std::optional<uint64_t> seed;
};

namespace internal {
std::shared_ptr<const NodeRecipe> FlatMixtureRecipe(
    const FlatMixtureOptions& options, std::vector<std::string> names);
}  // namespace internal

// All children as one corpus, as if concatenated and shuffled once per epoch.
//
// Item i of epoch e is item Perm(i) of the concatenation in the order of the
// names (bytewise), where Perm is the Feistel permutation of the total length
// under derive(seed, "flat", e). No data is copied and no list is kept.
//
// Determinism: names, lengths, seed, epoch and i decide the item; the order of
//     declaration does not. Ranks, threads, backends never do.
// Ownership: shares its children; a child may sit in several mixtures.
// Complexity: O(log children) per item; nothing grows with the lengths.
// Growing children: their final lengths are waited for.
// Errors: InvalidArgument for names that repeat, children of different
//     tokenizers (both are named), endless children, a total of zero items or
//     above 2^63. Children without items are allowed.
// Threads, cancellation: as AsyncDataset says.
template <class T>
class FlatMixture final : public IndexMapDataset<T> {
 public:
  static absl::StatusOr<DatasetPtr<T>> Create(
      std::vector<NamedDataset<T>> children,
      const FlatMixtureOptions& options = FlatMixtureOptions()) {
    std::vector<std::string> names;
    for (const NamedDataset<T>& child : children) names.push_back(child.name);
    auto made = std::make_shared<FlatMixture<T>>(
        internal::FlatMixtureRecipe(options, std::move(names)),
        std::move(children));
    absl::Status checked = made->Check();
    if (!checked.ok()) return checked;
    return DatasetPtr<T>(std::move(made));
  }

  using IndexMapDataset<T>::IndexMapDataset;

 private:
  DatasetPtr<T> Remake(std::shared_ptr<const NodeRecipe> recipe,
                       std::vector<NamedDataset<T>> children,
                       uint64_t seed) const override {
    return std::make_shared<FlatMixture<T>>(std::move(recipe),
                                            std::move(children), seed);
  }
};

}  // namespace poniente

#endif  // PONIENTE_FLAT_MIXTURE_H_
