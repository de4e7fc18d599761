// SPDX-License-Identifier: Apache-2.0
// Named datasets end to end in one order, by default a full shuffle.

#ifndef PONIENTE_FLAT_MIXTURE_H_
#define PONIENTE_FLAT_MIXTURE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "poniente/extend/index_map_dataset.h"
#include "poniente/shuffle.h"

namespace poniente {

// How a flat mixture orders the items of its children.
struct FlatMixtureOptions {
  // Key of the order. Unset: derived from the parent's seed and this node's
  // name when the tree is built; 0 at the root.
  std::optional<uint64_t> seed = std::nullopt;
  // Order of the items of all children together; eras and chunks may span
  // children. Chunks stated in tokens need children whose items all have one
  // length. Default: a full shuffle. A mixture above does not permute the items
  // again, whatever the kind, kNone included.
  ShuffleOptions shuffle = {};
};

namespace internal {
absl::StatusOr<std::shared_ptr<const NodeRecipe>> FlatMixtureRecipe(
    const FlatMixtureOptions& options, std::span<const NamedNode> children);
}  // namespace internal

// All children as one corpus, as if concatenated and shuffled once per epoch.
//
// Item i of epoch e is item Perm(i) of the children, concatenated in the
// bytewise order of their names. Perm is a permutation of all items under the
// key derive(seed, "flat", e); a full shuffle uses the Feistel permutation. No
// data is copied and no list is kept.
//
// Determinism: names, lengths, options, epoch and i decide the item. The order
//     of declaration, ranks, threads and backends never do.
// Ownership: shares its children; a child may be part of several mixtures.
// Complexity: O(log children) per item; nothing grows with the lengths.
// Growing children: waits for their final lengths.
// Errors: InvalidArgument for repeated names, children of different tokenizers
//     (both are named), endless children, a total of zero items or of more than
//     2^63, and shuffle options as for EraShuffle() and BlockShuffle().
//     Children without items are allowed.
// Threads, cancellation: as AsyncDataset.
template <class T>
class FlatMixture final : public IndexMapDataset<T> {
 public:
  // Returns a flat mixture of `children`. Errors as above.
  static absl::StatusOr<DatasetPtr<T>> Create(
      std::vector<NamedDataset<T>> children,
      const FlatMixtureOptions& options = FlatMixtureOptions()) {
    std::vector<NamedNode> nodes;
    for (const NamedDataset<T>& child : children) {
      nodes.push_back({child.name, child.dataset.get()});
    }
    auto recipe = internal::FlatMixtureRecipe(options, nodes);
    if (!recipe.ok()) return recipe.status();
    auto made = std::make_shared<FlatMixture<T>>(*std::move(recipe),
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
