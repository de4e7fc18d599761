// SPDX-License-Identifier: Apache-2.0
// Named datasets in scheduled proportions, block by block.

#ifndef PONIENTE_MIXTURE_DATASET_H_
#define PONIENTE_MIXTURE_DATASET_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "poniente/index_map_dataset.h"

namespace poniente {

template <class T>
struct MixtureComponent {
  std::string name;
  DatasetPtr<T> dataset;
  // Share of the samples in proportion to the others' weights; they need not
  // sum to 1. Finite, at least 0; 0 is never drawn.
  double weight = 1;
  // Permute each epoch of the component anew. Has no effect on a component
  // that has an order of its own (FlatMixture, Shuffle, a mixture, or any node
  // above one), which is never permuted a second time, and on endless ones.
  bool shuffle = true;
};

// From sample `start` of the mixture on, these weights.
struct MixtureStage {
  // In samples of this mixture. Above 0, strictly increasing.
  uint64_t start = 0;
  // By component. One that is not named has its weight of the first stage.
  std::map<std::string, double> weights;
};

struct MixtureOptions {
  // Samples among which the order is shuffled: 1 to 65536. Where weight x
  // block_size is whole for every component, each block holds the same counts.
  uint64_t block_size = 2048;
  // Stages after the first, which is the components' own weights.
  std::vector<MixtureStage> stages;
  // Keys the order. Unset: derived from the parent's seed and this node's name
  // when the tree is put together; 0 at the root.
  std::optional<uint64_t> seed;
};

namespace internal {

struct MixtureComponentSpec {
  std::string name;
  double weight = 1;
  bool shuffle = true;
};

// Errors as MixtureDataset says.
absl::StatusOr<std::shared_ptr<const NodeRecipe>> MixtureRecipe(
    const MixtureOptions& options,
    const std::vector<MixtureComponentSpec>& components);

}  // namespace internal

// Draws items from several datasets in exact proportions, by index arithmetic.
//
// Item i is draw n of component c by the quota tree (index-math.md 2): after
// any number k of whole blocks' items, component c has had k x weight of them,
// less or more by at most 1.68 (2.4 with many stages), however small its weight
// and however many there are. Draw n is item n mod length of the component's
// epoch n / length; each epoch has an order of its own. A component may be a
// mixture itself.
//
// Length: endless; Take() a finite part of it where one is needed.
// Stages: weights change at their very sample; what a component is owed is
//     carried over. A stage added later changes no block that it does not cut.
// Determinism: names, weights, stages, block size, seed and i decide. The order
//     of declaration, ranks, threads, batch size and backend never do.
// Ownership: shares its children; a child may sit in several mixtures.
// Complexity: Create() O(children log children) per stage; O(tree depth) per
//     item; memory does not grow with i.
// Growing children: their final lengths are waited for.
// Errors: InvalidArgument for weights that are negative, not finite or all
//     zero, names that repeat or are unknown, a component without items that
//     has a weight, children of different tokenizers (both are named), a block
//     size or stage starts out of bounds. OutOfRange from index 2^62 on.
// Threads, cancellation: as AsyncDataset says.
template <class T>
class MixtureDataset final : public IndexMapDataset<T> {
 public:
  static absl::StatusOr<DatasetPtr<T>> Create(
      std::vector<MixtureComponent<T>> components,
      const MixtureOptions& options = MixtureOptions()) {
    std::vector<internal::MixtureComponentSpec> specs;
    std::vector<NamedDataset<T>> children;
    for (MixtureComponent<T>& component : components) {
      const bool permuted = component.shuffle && component.dataset != nullptr &&
                            component.dataset->IsFinite() &&
                            !component.dataset->has_order();
      specs.push_back({component.name, component.weight, permuted});
      children.push_back({component.name, std::move(component.dataset)});
    }
    auto recipe = internal::MixtureRecipe(options, specs);
    if (!recipe.ok()) return recipe.status();
    auto made = std::make_shared<MixtureDataset<T>>(*std::move(recipe),
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
    return std::make_shared<MixtureDataset<T>>(std::move(recipe),
                                               std::move(children), seed);
  }
};

}  // namespace poniente

#endif  // PONIENTE_MIXTURE_DATASET_H_
