// SPDX-License-Identifier: Apache-2.0
#include "poniente/mixture_dataset.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "index/keyed_hash.h"
#include "index/max_samples.h"
#include "index/mixture/mixture_map.h"
#include "index/mixture/mixture_stages.h"
#include "index/permutation/item_order.h"
#include "poniente/extend/item_sets.h"
#include "poniente/extend/piecewise_items.h"
#include "util/check.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

struct Component : MixtureComponentSpec {
  std::vector<OrderSpec> orders;  // of the views
};

// Creates the plan. It needs the lengths if they decide the shares.
absl::StatusOr<MixturePlan> MakePlan(const MixtureOptions& options,
                                     const std::vector<Component>& components,
                                     std::span<const LengthState> lengths) {
  std::vector<WeightedComponent> weighted;
  std::vector<uint64_t> further_starts;
  for (size_t i = 0; i < components.size(); ++i) {
    const Component& component = components[i];
    weighted.push_back({component.name, component.weight, std::nullopt});
    if (i < lengths.size() && !lengths[i].is_endless) {
      weighted.back().items = lengths[i].readable;
    }
    for (const ViewSpec& view : component.views) {
      // Items are dropped between blocks, which go on as they were.
      if (view.start == 0 || view.dropped != nullptr) continue;
      further_starts.push_back(view.start);
    }
  }
  return MixturePlan::Create(options, std::move(weighted), further_starts);
}

class MixtureNodeRecipe final : public NodeRecipe {
 public:
  // `plan`: nullopt if the plan depends on lengths.
  MixtureNodeRecipe(const MixtureOptions& options,
                    std::vector<Component> components,
                    std::optional<MixturePlan> plan)
      : options_(options),
        components_(std::move(components)),
        num_described_(components_.size()),
        plan_(std::move(plan)) {}

  std::string_view kind() const override { return "mixture"; }
  bool is_order() const override { return true; }
  bool is_endless() const override {
    return options_.stop_rule == StopRule::kRestart &&
           std::none_of(components_.begin(), components_.end(),
                        [](const Component& component) {
                          return component.max_epochs.has_value();
                        });
  }
  std::optional<uint64_t> stated_seed() const override { return options_.seed; }

  uint64_t fingerprint() const override {
    KeyHash hash(options_.block_size);
    if (plan_.has_value()) {
      for (const uint64_t quantum : plan_->stages()->quanta(0)) {
        hash.Add(quantum);
      }
    } else {  // quanta follow from the children, which are hashed, too
      hash.Add(Tag("sizes")).Add(Bits(options_.temperature));
    }
    for (const Component* component : Canonical()) {
      const OrderSpec& order = component->orders[0];
      hash.Add(order.kind != ShuffleKind::kNone);
      if (OrderFingerprint(order) != 0) hash.Add(OrderFingerprint(order));
      if (!plan_.has_value()) hash.Add(Bits(component->weight));
      if (component->max_epochs) {
        hash.Add(Tag("epochs")).Add(*component->max_epochs);
      }
    }
    if (options_.max_seq_len > 0) {
      hash.Add(Tag("lens"))
          .Add(options_.max_seq_len)
          .Add(options_.trim)
          .Add(options_.group_items);
      if (options_.sample_overlap > 0) hash.Add(Tag("overlap"));
    }
    if (options_.stop_rule != StopRule::kRestart) {
      hash.Add(Tag("stop")).Add(static_cast<int>(options_.stop_rule));
    }
    return hash.key();
  }

  uint64_t ChildSeed(uint64_t seed, std::string_view name) const override {
    return internal::ChildSeed(seed, name);
  }

  absl::StatusOr<MixturePlan> PlanFor(
      std::span<const LengthState> lengths) const {
    if (decided_.has_value()) return *decided_;
    if (plan_.has_value()) return *plan_;
    return MakePlan(options_, components_, lengths);
  }

  std::shared_ptr<const NodeRecipe> Decided(MixturePlan decided) const {
    auto recipe = std::make_shared<MixtureNodeRecipe>(*this);
    recipe->decided_ = std::move(decided);
    return recipe;
  }

  absl::StatusOr<AddedComponent> Added(std::span<const LengthState> lengths,
                                       Component component,
                                       const MixtureDecision& decision) const {
    PONIENTE_ASSIGN_OR_RETURN(const MixturePlan plan, PlanFor(lengths));
    PONIENTE_ASSIGN_OR_RETURN(MixturePlan decided,
                              plan.With(std::span(&decision, 1)));
    for (const ViewSpec& view : component.views) {
      const uint64_t stage = decided.stages()->BlockOf(view.start).stage;
      if (decided.stages()->stage_start(stage) == view.start) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "component '", component.name, "' has another view from sample ",
          view.start, " on, where no stage of the mixture begins"));
    }
    auto recipe = std::make_shared<MixtureNodeRecipe>(*this);
    recipe->components_.push_back(std::move(component));
    recipe->decided_ = std::move(decided);
    return AddedComponent{std::move(recipe), components_.size()};
  }

  const MixtureComponentSpec* Find(std::string_view name) const {
    for (const Component& component : components_) {
      if (component.name == name) return &component;
    }
    return nullptr;
  }

  absl::StatusOr<DroppedView> Dropped(
      std::string_view component, uint64_t start,
      std::shared_ptr<const DroppedItems> dropped) const {
    auto recipe = std::make_shared<MixtureNodeRecipe>(*this);
    DroppedView made;
    made.child = components_.size();
    for (Component& one : recipe->components_) {
      if (one.name != component) {
        made.child += one.views.size() - 1;
        continue;
      }
      size_t number = one.views.size();
      while (one.views[number - 1].start > start) --number;
      for (const ViewSpec& view : one.views) {
        if (!view.keeps_epoch) continue;
        return absl::InvalidArgumentError(absl::StrCat(
            "'", Absl(component),
            "' has views of several lengths that go on "
            "with one epoch, so that none of its items can be dropped"));
      }
      ViewSpec added = one.views[number - 1];
      added.start = start;
      added.dropped = std::move(dropped);
      const auto at = static_cast<ptrdiff_t>(number);
      one.orders.insert(one.orders.begin() + at, one.orders[number - 1]);
      one.views.insert(one.views.begin() + at, std::move(added));
      made.view = static_cast<uint32_t>(number);
      made.child += number - 1;
      break;
    }
    PONIENTE_CHECK(made.view > 0) << Absl(component);
    made.recipe = std::move(recipe);
    return made;
  }

  bool follows_growth() const override { return true; }

  size_t WaitsFor(std::span<const LengthState> lengths) const override {
    const auto made = MixtureMapOf({}, lengths, 0);
    // Its own growth may wait for none, as for a component of weight 0.
    return made.ok() && (*made)->waits_for().has_value()
               ? *(*made)->waits_for()
               : NodeRecipe::WaitsFor(lengths);
  }

  absl::StatusOr<MadeMap> MakeMap(std::span<const LengthState> lengths,
                                  uint64_t seed) const override {
    return MakeMapWith({}, lengths, seed);
  }

  absl::StatusOr<MadeMap> MakeMapOf(const DatasetNode& node,
                                    std::span<const LengthState> lengths,
                                    uint64_t seed) const override {
    std::vector<std::shared_ptr<const ItemSets>> sets;
    if (KeepsEpochs()) {
      for (const NamedNode& child : node.children()) {
        sets.push_back(child.node->item_sets());
      }
    }
    return MakeMapWith(sets, lengths, seed);
  }

 private:
  bool KeepsEpochs() const {
    for (const Component& component : components_) {
      for (const ViewSpec& view : component.views) {
        if (view.keeps_epoch) return true;
      }
    }
    return false;
  }

  // Returns OK if the samples whose items are there stay as they are when more
  // items come. FailedPrecondition if all lengths must be final.
  absl::Status CheckFollows(std::span<const LengthState> lengths) const {
    std::string why;
    if (!plan_.has_value()) {
      why = "its weights follow from the lengths";
    } else if (options_.stop_rule != StopRule::kRestart) {
      why = "the lengths decide where it stops";
    } else if (options_.max_seq_len > 0) {
      why = "its samples have several lengths";
    }
    for (size_t i = 0; i < components_.size() && why.empty(); ++i) {
      if (lengths[i].is_final) continue;
      const Component& component = components_[i];
      const ShuffleKind order = component.orders[0].kind;
      if (order != ShuffleKind::kEras && order != ShuffleKind::kNone) {
        why = "is not shuffled by eras";
      } else if (component.views.size() > 1) {
        why = "has several views";
      } else if (component.max_epochs.has_value()) {
        why = "has a limit of epochs";
      }
      if (!why.empty()) why = absl::StrCat("'", component.name, "' ", why);
    }
    for (size_t i = components_.size(); i < lengths.size(); ++i) {
      if (!lengths[i].is_final) why = "a component has several views";
    }
    if (why.empty()) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        "a component of the mixture still grows, and nothing can be read "
        "before its length is final: ",
        why));
  }

  // `sets`: those of the children, or none.
  absl::StatusOr<MadeMap> MakeMapWith(
      std::span<const std::shared_ptr<const ItemSets>> sets,
      std::span<const LengthState> lengths, uint64_t seed) const {
    PONIENTE_ASSIGN_OR_RETURN(std::shared_ptr<const MixtureMap> map,
                              MixtureMapOf(sets, lengths, seed));
    const bool is_final = !map->grows();
    return MadeMap{std::move(map), is_final};
  }

  absl::StatusOr<std::unique_ptr<MixtureMap>> MixtureMapOf(
      std::span<const std::shared_ptr<const ItemSets>> sets,
      std::span<const LengthState> lengths, uint64_t seed) const {
    const bool grows =
        std::any_of(lengths.begin(), lengths.end(),
                    [](const LengthState& length) { return !length.is_final; });
    if (grows) PONIENTE_RETURN_IF_ERROR(CheckFollows(lengths));
    PONIENTE_ASSIGN_OR_RETURN(const MixturePlan plan, PlanFor(lengths));
    std::vector<internal::MapComponent> made(components_.size());
    size_t later = components_.size();
    for (size_t i = 0; i < made.size(); ++i) {
      made[i].name = components_[i].name;
      made[i].max_epochs = components_[i].max_epochs;
      made[i].is_whole = components_[i].is_whole;
      for (size_t v = 0; v < components_[i].views.size(); ++v) {
        const size_t child = v == 0 ? i : later++;
        const LengthState& length = lengths[child];
        internal::MapComponentView& added = made[i].views.emplace_back();
        added.start = components_[i].views[v].start;
        added.order = components_[i].orders[v];
        added.keeps_epoch = components_[i].views[v].keeps_epoch;
        added.dropped = components_[i].views[v].dropped;
        if (!sets.empty()) added.sets = sets[child].get();
        added.grows = !length.is_final;
        if (!length.is_endless || added.grows) added.length = length.readable;
        if (added.grows && added.order.kind == ShuffleKind::kEras) {
          *added.length -= *added.length % added.order.era_items;
        }
      }
    }
    MixtureRules rules;
    rules.stop_rule = options_.stop_rule;
    rules.parts = PartsOf(options_, plan.seq_lens());
    rules.group = options_.group_items;
    return MixtureMap::Create(plan.stages(), std::move(made), seed, rules);
  }

  static uint64_t Bits(double value) { return std::bit_cast<uint64_t>(value); }

  // Returns the components that were there from the beginning, in bytewise
  // order of their names.
  std::vector<const Component*> Canonical() const {
    std::vector<const Component*> sorted;
    for (size_t i = 0; i < num_described_; ++i) {
      sorted.push_back(&components_[i]);
    }
    std::sort(sorted.begin(), sorted.end(),
              [](const auto* a, const auto* b) { return a->name < b->name; });
    return sorted;
  }

  const MixtureOptions options_;
  std::vector<Component> components_;  // constant after construction
  // So many of them were there from the beginning; others were added.
  const size_t num_described_;
  const std::optional<MixturePlan> plan_;  // without a seed
  // The plan with decisions; nullopt if there are none. Like components that
  // were added, not part of the fingerprint, as later stages are not.
  std::optional<MixturePlan> decided_;
};

absl::StatusOr<std::vector<OrderSpec>> OrdersOf(
    const MixtureComponentSpec& component) {
  std::vector<OrderSpec> orders;
  for (const ViewSpec& view : component.views) {
    OrderSpec order = {.kind = ShuffleKind::kNone};
    if (view.is_permuted) {
      auto resolved = ResolveShuffle(component.shuffle, view.item_tokens);
      if (!resolved.ok()) {
        return Prepend(resolved.status(),
                       absl::StrCat("shuffle of '", component.name, "'"));
      }
      order = *resolved;
    }
    orders.push_back(order);
  }
  return orders;
}

absl::Status CheckComponent(const MixtureComponentSpec& component) {
  for (const ViewSpec& view : component.views) {
    if (!view.keeps_epoch || component.is_whole) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "a view of '", component.name,
        "' is to continue an epoch, but the component is not made of windows "
        "of packed documents; make it of PackedWindows(), or leave keeps_epoch "
        "unset"));
  }
  if (component.max_epochs == uint64_t{0}) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_epochs of '", component.name,
                     "' must be at least 1, got 0; a weight of 0 leaves a "
                     "component out"));
  }
  for (size_t v = 1; v < component.views.size(); ++v) {
    const uint64_t start = component.views[v].start;
    if (start > component.views[v - 1].start && start < internal::kMaxSamples) {
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrCat("view ", v, " of '", component.name, "' begins at sample ",
                     start, ", which is not after ",
                     component.views[v - 1].start, ", or not below 2^62"));
  }
  return absl::OkStatus();
}

const MixtureNodeRecipe& RecipeOf(const NodeRecipe& mixture) {
  const auto* const recipe = dynamic_cast<const MixtureNodeRecipe*>(&mixture);
  PONIENTE_CHECK(recipe != nullptr) << Absl(mixture.kind());
  return *recipe;
}

}  // namespace

absl::StatusOr<MixturePlan> PlanOfMixture(
    const NodeRecipe& mixture, std::span<const LengthState> lengths) {
  return RecipeOf(mixture).PlanFor(lengths);
}

absl::StatusOr<std::shared_ptr<const NodeRecipe>> WithDecisions(
    const NodeRecipe& mixture, std::span<const LengthState> lengths,
    std::span<const MixtureDecision> decisions) {
  const MixtureNodeRecipe& recipe = RecipeOf(mixture);
  PONIENTE_ASSIGN_OR_RETURN(const MixturePlan plan, recipe.PlanFor(lengths));
  PONIENTE_ASSIGN_OR_RETURN(MixturePlan decided, plan.With(decisions));
  return recipe.Decided(std::move(decided));
}

absl::StatusOr<DroppedView> WithDropped(
    const NodeRecipe& mixture, std::string_view component, uint64_t start,
    std::shared_ptr<const DroppedItems> dropped) {
  return RecipeOf(mixture).Dropped(component, start, std::move(dropped));
}

absl::StatusOr<AddedComponent> WithAdded(const NodeRecipe& mixture,
                                         std::span<const LengthState> lengths,
                                         MixtureComponentSpec spec,
                                         const MixtureDecision& decision) {
  PONIENTE_RETURN_IF_ERROR(CheckComponent(spec));
  PONIENTE_ASSIGN_OR_RETURN(std::vector<OrderSpec> orders, OrdersOf(spec));
  return RecipeOf(mixture).Added(
      lengths, Component{std::move(spec), std::move(orders)}, decision);
}

const MixtureComponentSpec* FindComponent(const NodeRecipe& mixture,
                                          std::string_view name) {
  return RecipeOf(mixture).Find(name);
}

bool IsAllPacked(const DatasetNode& node) {
  const std::vector<NamedNode> children = node.children();
  if (children.empty()) return PackedItemsOf(node) != nullptr;
  return std::all_of(children.begin(), children.end(),
                     [](const NamedNode& child) {
                       return child.node != nullptr && IsAllPacked(*child.node);
                     });
}

absl::StatusOr<std::shared_ptr<const NodeRecipe>> MixtureRecipe(
    const MixtureOptions& options, std::vector<MixtureComponentSpec> specs) {
  if (specs.empty()) {
    return absl::InvalidArgumentError("mixture: no components");
  }
  PONIENTE_RETURN_IF_ERROR(CheckRampsAreSmooth(options));
  std::vector<Component> components;
  for (MixtureComponentSpec& spec : specs) {
    PONIENTE_RETURN_IF_ERROR(CheckComponent(spec));
    PONIENTE_ASSIGN_OR_RETURN(std::vector<OrderSpec> orders, OrdersOf(spec));
    components.push_back({std::move(spec), std::move(orders)});
  }
  std::optional<MixturePlan> plan;
  if (options.weight_rule != WeightRule::kSizeProportional) {
    PONIENTE_ASSIGN_OR_RETURN(plan, MakePlan(options, components, {}));
  }
  return std::make_shared<MixtureNodeRecipe>(options, std::move(components),
                                             std::move(plan));
}

}  // namespace poniente::internal
