// SPDX-License-Identifier: Apache-2.0
// Named datasets in scheduled proportions, block by block.

#ifndef PONIENTE_MIXTURE_DATASET_H_
#define PONIENTE_MIXTURE_DATASET_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "poniente/extend/index_map_dataset.h"
#include "poniente/mixture_plan.h"
#include "poniente/shuffle.h"

namespace poniente {

// One component of a mixture, and how the mixture reads it.
template <class T>
struct MixtureComponent {
  std::string name = {};
  DatasetPtr<T> dataset = nullptr;
  // Weight under the mixture's weight_rule. Under kProportions and
  // kSizeProportional it is finite and at least 0; a component of weight 0 is
  // never drawn. Default: 1.
  double weight = 1;
  // Order in which each epoch of the component is permuted. Default: a full
  // shuffle. Has no effect on endless components, nor on a component with an
  // order of its own (FlatMixture, Shuffle, a mixture, or any node above one),
  // which is never permuted a second time.
  ShuffleOptions shuffle = ShuffleOptions::Full();
  // Maximum number of epochs that the mixture may draw from the component, at
  // least 1: the mixture ends before the block that would begin one more.
  // Unset: any number.
  std::optional<uint64_t> max_epochs = std::nullopt;
};

// Another dataset that replaces the component of this name from sample `start`
// of the mixture on: usually a Filter of the same dataset with another
// threshold. It begins a new epoch of the component, unless `keeps_epoch`.
template <class T>
struct ComponentView {
  std::string name = {};
  // First sample of the mixture that uses the view. Above 0; strictly
  // increasing for each name.
  uint64_t start = 0;
  DatasetPtr<T> dataset = nullptr;
  // Continues the epoch that the component is in, with the first set of items
  // that has not been begun (docs/index-math.md 2.8). The dataset and the one
  // that it replaces must have the same item_sets(): packed windows of another
  // length, made of the same documents by chunks.
  bool keeps_epoch = false;
};

// A component and its later views.
template <class T>
struct ComponentWithViews {
  MixtureComponent<T> component = {};
  std::vector<ComponentView<T>> views = {};
};

namespace internal {

class DroppedItems;

struct ViewSpec {
  uint64_t start = 0;
  // Whether the mixture permutes the view's items.
  bool is_permuted = true;
  uint32_t item_tokens = 0;
  bool keeps_epoch = false;
  // Items that this view has not, and the view before it has: that view is read
  // to the end of its epoch without them. Null: this view begins at once.
  std::shared_ptr<const DroppedItems> dropped = nullptr;
};

// Returns whether all leaves of the tree are windows of packed documents. A
// mixture does not cut them for a schedule of lengths.
bool IsAllPacked(const DatasetNode& node);

struct MixtureComponentSpec {
  std::string name;
  double weight = 1;
  ShuffleOptions shuffle;
  std::optional<uint64_t> max_epochs;
  std::vector<ViewSpec> views;
  bool is_whole = false;  // IsAllPacked()
};

// Makes the recipe of a mixture. Its children are the components in their
// order, then their later views, component by component. Errors as
// MixtureDataset.
absl::StatusOr<std::shared_ptr<const NodeRecipe>> MixtureRecipe(
    const MixtureOptions& options,
    std::vector<MixtureComponentSpec> components);

// Returns the plan of a recipe of MixtureRecipe(), whose children have these
// lengths.
absl::StatusOr<MixturePlan> PlanOfMixture(const NodeRecipe& mixture,
                                          std::span<const LengthState> lengths);

// Returns the recipe of the same mixture with further decisions. Errors of
// MixturePlan::With().
absl::StatusOr<std::shared_ptr<const NodeRecipe>> WithDecisions(
    const NodeRecipe& mixture, std::span<const LengthState> lengths,
    std::span<const MixtureDecision> decisions);

// A recipe with a view from which items are dropped.
struct DroppedView {
  std::shared_ptr<const NodeRecipe> recipe;
  uint32_t view = 0;  // its number
  size_t child = 0;   // where it belongs among the children
};

// Returns the recipe of the same mixture with another view of a component,
// without `dropped`, from sample `start` on. InvalidArgument if the component's
// views continue epochs. REQUIRES: there is such a component.
absl::StatusOr<DroppedView> WithDropped(
    const NodeRecipe& mixture, std::string_view component, uint64_t start,
    std::shared_ptr<const DroppedItems> dropped);

// A recipe with one more component.
struct AddedComponent {
  std::shared_ptr<const NodeRecipe> recipe;
  size_t child = 0;  // where it belongs among the children; its views: behind
};

// Returns the recipe of the same mixture with the component that `decision`
// adds, whose views are those of `spec`. Errors of MixtureDataset and
// MixturePlan::With(); InvalidArgument if a view begins where no stage does.
absl::StatusOr<AddedComponent> WithAdded(const NodeRecipe& mixture,
                                         std::span<const LengthState> lengths,
                                         MixtureComponentSpec spec,
                                         const MixtureDecision& decision);

// Returns what the recipe says of a component; null if there is none.
const MixtureComponentSpec* FindComponent(const NodeRecipe& mixture,
                                          std::string_view name);

}  // namespace internal

// Draws items from several datasets in exact proportions, by index arithmetic.
//
// Item i is draw n of component c by the quota tree (docs/index-math.md 2).
// After k items, where k is a whole number of blocks, component c has served
// about k times its weight. In one stage, the difference is at most 1.68 items,
// for any weight and any number of components. (Over several stages, the
// largest difference measured with usual weights was 3.1.) Draw n is item n
// mod length of the component's epoch n / length; each epoch has an order of
// its own. A component may itself be a mixture.
//
// Length: endless, unless a stop rule or a component's max_epochs ends it;
//     Take() a finite part where one is needed. If a finite mixture is read for
//     several epochs, each epoch continues its components' draws where the
//     epoch before it ended.
// Stages: weights change exactly at their sample, at once or along a ramp. The
//     difference of a component from its share is carried over into the next
//     stage. A stage added later changes only the block that its start cuts,
//     and what follows.
// Sequence lengths: with max_seq_len, a sample is a part of a component's item,
//     cut by the schedule of lengths; nothing is read twice in an epoch.
//     Components whose leaves are all windows of packed documents are not cut:
//     give them a view for each length (ComponentView::keeps_epoch).
// Determinism: names, weights, stages, block size, seed and i decide the item.
//     The order of declaration, ranks, threads, batch size and backend never
//     do.
// Ownership: shares its children; a child may be part of several mixtures.
// Complexity: Create() O(children log children) per stage; O(tree depth) per
//     item. Memory does not grow with i.
// Growing children: the blocks whose items are there can be read, and are the
//     same as over complete children, if these children are shuffled by eras
//     (ShuffleOptions::Eras(); whole eras count) or not at all, and have one
//     view and no max_epochs. Otherwise, with sequence lengths, another stop
//     rule than kRestart, or shares by size, waits for their final lengths.
// Errors: InvalidArgument for what MixturePlan refuses, a component with a
//     weight but no items, children of different tokenizers (both are named),
//     and stop rules that cannot be kept (the exhausted component and the
//     sample are named). OutOfRange at or past the end, and at or past index
//     2^62.
// Threads, cancellation: as AsyncDataset.
template <class T>
class MixtureDataset final : public IndexMapDataset<T> {
 public:
  // Returns a mixture of `components`. `views` replace the datasets of some
  // components later on. Errors as above.
  static absl::StatusOr<DatasetPtr<T>> Create(
      std::vector<MixtureComponent<T>> components,
      const MixtureOptions& options = MixtureOptions(),
      std::vector<ComponentView<T>> views = {}) {
    std::vector<internal::MixtureComponentSpec> specs;
    std::vector<NamedDataset<T>> children;
    std::vector<NamedDataset<T>> later;
    for (const ComponentView<T>& view : views) {
      const bool is_known = std::any_of(
          components.begin(), components.end(),
          [&view](const auto& known) { return known.name == view.name; });
      if (is_known) continue;
      return absl::InvalidArgumentError("mixture: a view has the name '" +
                                        view.name +
                                        "', which no component has");
    }
    for (MixtureComponent<T>& component : components) {
      std::vector<ComponentView<T>> own;
      for (ComponentView<T>& view : views) {
        if (view.name == component.name) own.push_back(std::move(view));
      }
      specs.push_back(SpecOf(component, own));
      children.push_back({component.name, std::move(component.dataset)});
      AppendViews(std::move(own), 0, &later);
    }
    std::move(later.begin(), later.end(), std::back_inserter(children));
    auto recipe = internal::MixtureRecipe(options, std::move(specs));
    if (!recipe.ok()) return recipe.status();
    auto made = std::make_shared<MixtureDataset<T>>(*std::move(recipe),
                                                    std::move(children));
    absl::Status checked = made->Check();
    if (!checked.ok()) return checked;
    return DatasetPtr<T>(std::move(made));
  }

  using IndexMapDataset<T>::IndexMapDataset;

  // Returns the plan by which the mixture draws. FailedPrecondition while a
  // length that it depends on is not final.
  absl::StatusOr<MixturePlan> plan() const {
    return internal::PlanOfMixture(this->recipe(), this->ChildLengths());
  }

  // Returns the same mixture under further decisions, made while it was read.
  // Shares the children. Errors of MixturePlan::With().
  absl::StatusOr<DatasetPtr<T>> With(
      std::span<const MixtureDecision> decisions) const {
    auto recipe = internal::WithDecisions(this->recipe(), this->ChildLengths(),
                                          decisions);
    if (!recipe.ok()) return recipe.status();
    return this->Remade(*std::move(recipe), this->named_children());
  }

  // Returns the same mixture, from whose component `name` items are dropped
  // while it is read. From sample `start` on, the first of a block, the
  // component's epoch is read to its end without `dropped`, which tells where
  // views serve them; later epochs are those of the dataset that `without`
  // makes of the component's, and so are the epochs of views that begin later.
  // Errors of `without`; InvalidArgument if nothing is left of a component.
  template <class Without>
  absl::StatusOr<DatasetPtr<T>> WithDrop(
      std::string_view name, uint64_t start,
      std::shared_ptr<const internal::DroppedItems> dropped,
      const Without& without) const {
    auto made_view =
        internal::WithDropped(this->recipe(), name, start, std::move(dropped));
    if (!made_view.ok()) return made_view.status();
    std::vector<NamedDataset<T>> children = this->named_children();
    NamedDataset<T> added;
    for (NamedDataset<T>& child : children) {
      if (child.name != name || child.view + 1 < made_view->view) continue;
      absl::StatusOr<DatasetPtr<T>> thinned = without(child.dataset);
      if (!thinned.ok()) return thinned.status();
      if (child.view + 1 == made_view->view) {
        added = {child.name, *std::move(thinned), made_view->view,
                 /*shares_sources=*/true};
      } else {
        child.dataset = *std::move(thinned);
        ++child.view;
      }
    }
    children.insert(
        children.begin() + static_cast<std::ptrdiff_t>(made_view->child),
        std::move(added));
    return this->Remade(std::move(made_view->recipe), std::move(children));
  }

  // Returns the same mixture with one more component from decision.start on,
  // the first sample of a block, with the component's weight. `decision` may
  // state more. `number`: NamedNode::added. Errors as Create() and
  // MixturePlan::With().
  absl::StatusOr<DatasetPtr<T>> WithAdded(ComponentWithViews<T> added,
                                          MixtureDecision decision,
                                          uint64_t number) const {
    MixtureComponent<T>& component = added.component;
    if (component.dataset == nullptr) {
      return absl::InvalidArgumentError("component '" + component.name +
                                        "' has no dataset");
    }
    decision.added = {
        {component.name, component.weight, component.dataset->CurrentLength()}};
    auto made = internal::WithAdded(this->recipe(), this->ChildLengths(),
                                    SpecOf(component, added.views), decision);
    if (!made.ok()) return made.status();
    std::vector<NamedDataset<T>> children = this->named_children();
    NamedDataset<T> first = {component.name, std::move(component.dataset)};
    first.added = number;
    children.insert(children.begin() + static_cast<std::ptrdiff_t>(made->child),
                    std::move(first));
    AppendViews(std::move(added.views), number, &children);
    return this->Remade(std::move(made->recipe), std::move(children));
  }

  // Returns the component of this name with its views, as Create() was given
  // them; without a dataset if there is none.
  ComponentWithViews<T> ComponentAndViews(std::string_view name) const {
    ComponentWithViews<T> found;
    const auto* const spec = internal::FindComponent(this->recipe(), name);
    if (spec == nullptr) return found;
    found.component = {spec->name, component(name), spec->weight, spec->shuffle,
                       spec->max_epochs};
    for (const NamedDataset<T>& child : this->named_children()) {
      if (child.name != name || child.view == 0) continue;
      const internal::ViewSpec& view = spec->views[child.view];
      found.views.push_back(
          {child.name, view.start, child.dataset, view.keeps_epoch});
    }
    return found;
  }

  // Returns the component of this name, as it is at the start; null if there is
  // none.
  DatasetPtr<T> component(std::string_view name) const {
    for (const NamedDataset<T>& child : this->named_children()) {
      if (child.name == name && child.view == 0) return child.dataset;
    }
    return nullptr;
  }

  // Returns the same mixture with another dataset as the component of this
  // name: one that serves the same items up to the present. REQUIRES: there is
  // such a component.
  absl::StatusOr<DatasetPtr<T>> WithComponent(std::string_view name,
                                              DatasetPtr<T> dataset) const {
    std::vector<NamedDataset<T>> children = this->named_children();
    for (NamedDataset<T>& child : children) {
      if (child.name == name && child.view == 0) child.dataset = dataset;
    }
    return this->WithChildren(std::move(children));
  }

 private:
  static internal::MixtureComponentSpec SpecOf(
      const MixtureComponent<T>& component,
      const std::vector<ComponentView<T>>& views) {
    internal::MixtureComponentSpec spec = {
        component.name,
        component.weight,
        component.shuffle,
        component.max_epochs,
        {View(0, component.dataset)},
        component.dataset != nullptr &&
            internal::IsAllPacked(*component.dataset)};
    for (const ComponentView<T>& view : views) {
      spec.views.push_back(View(view.start, view.dataset));
      spec.views.back().keeps_epoch = view.keeps_epoch;
    }
    return spec;
  }

  static void AppendViews(std::vector<ComponentView<T>> views, uint64_t added,
                          std::vector<NamedDataset<T>>* children) {
    uint32_t number = 0;
    for (ComponentView<T>& view : views) {
      NamedDataset<T>& child = children->emplace_back();
      child.name = view.name;
      child.dataset = std::move(view.dataset);
      child.view = ++number;
      child.added = added;
    }
  }

  static internal::ViewSpec View(uint64_t start, const DatasetPtr<T>& dataset) {
    if (dataset == nullptr) return {start};  // refused by Check()
    return {start, dataset->IsFinite() && !dataset->has_order(),
            dataset->item_tokens()};
  }

  DatasetPtr<T> Remake(std::shared_ptr<const NodeRecipe> recipe,
                       std::vector<NamedDataset<T>> children,
                       uint64_t seed) const override {
    return std::make_shared<MixtureDataset<T>>(std::move(recipe),
                                               std::move(children), seed);
  }
};

}  // namespace poniente

#endif  // PONIENTE_MIXTURE_DATASET_H_
