// SPDX-License-Identifier: Apache-2.0
#include "poniente/mixture_dataset.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "index/keyed_hash.h"
#include "index/mixture_map.h"
#include "index/stage_plan.h"
#include "index/weights.h"
#include "util/nearest_name.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

class Recipe final : public NodeRecipe {
 public:
  Recipe(std::optional<uint64_t> seed,
         std::vector<MixtureComponentSpec> components,
         std::shared_ptr<const StagePlan> plan)
      : seed_(seed), components_(std::move(components)), plan_(plan) {}

  std::string_view kind() const override { return "mixture"; }
  bool is_order() const override { return true; }
  bool is_endless() const override { return true; }
  std::optional<uint64_t> stated_seed() const override { return seed_; }

  uint64_t fingerprint() const override {
    KeyHash hash(plan_->block_size());
    for (const uint64_t quantum : plan_->quanta(0)) hash.Add(quantum);
    for (const MixtureComponentSpec* component : Canonical(components_)) {
      hash.Add(component->shuffle);
    }
    return hash.key();
  }

  uint64_t ChildSeed(uint64_t seed, std::string_view name) const override {
    return internal::ChildSeed(seed, name);
  }

  absl::StatusOr<MadeMap> MakeMap(std::span<const LengthState> lengths,
                                  uint64_t seed) const override {
    std::vector<internal::MixtureComponent> made(components_.size());
    for (size_t i = 0; i < made.size(); ++i) {
      made[i].name = components_[i].name;
      made[i].shuffle = components_[i].shuffle;
      if (!lengths[i].is_endless) made[i].length = lengths[i].readable;
    }
    PONIENTE_ASSIGN_OR_RETURN(std::shared_ptr<const IndexMap> map,
                              MixtureMap::Create(plan_, std::move(made), seed));
    return MadeMap{std::move(map), true};
  }

  // By name, bytewise.
  static std::vector<const MixtureComponentSpec*> Canonical(
      const std::vector<MixtureComponentSpec>& components) {
    std::vector<const MixtureComponentSpec*> sorted;
    for (const auto& component : components) sorted.push_back(&component);
    std::sort(sorted.begin(), sorted.end(),
              [](const auto* a, const auto* b) { return a->name < b->name; });
    return sorted;
  }

 private:
  const std::optional<uint64_t> seed_;
  const std::vector<MixtureComponentSpec> components_;
  const std::shared_ptr<const StagePlan> plan_;  // knows no seed
};

absl::Status CheckStageNames(const MixtureStage& stage,
                             std::span<const std::string> names) {
  for (const auto& [name, weight] : stage.weights) {
    if (std::binary_search(names.begin(), names.end(), name)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("stage at sample ", stage.start, ": unknown component '",
                     name, "'", DidYouMean(name, names)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const NodeRecipe>> MixtureRecipe(
    const MixtureOptions& options,
    const std::vector<MixtureComponentSpec>& components) {
  if (components.empty()) {
    return absl::InvalidArgumentError("mixture: no components");
  }
  std::vector<std::string> names;
  std::vector<double> first;
  for (const MixtureComponentSpec* component : Recipe::Canonical(components)) {
    names.push_back(component->name);
    first.push_back(component->weight);
  }
  std::vector<PlanStage> stages(1);
  PONIENTE_ASSIGN_OR_RETURN(stages[0].quanta, QuantaFromWeights(first, names));
  for (const MixtureStage& stage : options.stages) {
    PONIENTE_RETURN_IF_ERROR(CheckStageNames(stage, names));
    std::vector<double> weights = first;
    for (size_t i = 0; i < names.size(); ++i) {
      const auto stated = stage.weights.find(names[i]);
      if (stated != stage.weights.end()) weights[i] = stated->second;
    }
    auto quanta = QuantaFromWeights(weights, names);
    if (!quanta.ok()) {
      return Prepend(quanta.status(),
                     absl::StrCat("stage at sample ", stage.start));
    }
    stages.push_back({stage.start, *std::move(quanta)});
  }
  PONIENTE_ASSIGN_OR_RETURN(
      auto plan, StagePlan::Create(options.block_size, std::move(stages)));
  return std::make_shared<Recipe>(options.seed, components, std::move(plan));
}

}  // namespace poniente::internal
