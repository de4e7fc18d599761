// SPDX-License-Identifier: Apache-2.0
#include "config/tree/nested_changes.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "config/tree/schedule_builder.h"
#include "index/schedule/step_changes.h"

namespace poniente::internal {
namespace {

// Searches the first step whose samples all come at or after an item of the
// mixture.
class NestedSteps {
 public:
  NestedSteps(const Schedule& schedule, const ItemsBefore& before)
      : schedule_(schedule), before_(before) {}

  std::optional<uint64_t> operator()(uint64_t item) const {
    uint64_t low = 0;
    uint64_t high = schedule_.steps();
    if (high == 0) {
      for (high = 1; schedule_.Has(high) && !IsReached(high, item); high *= 2) {
        if (high > UINT64_MAX / 2) return std::nullopt;
      }
    }
    while (low < high) {
      const uint64_t middle = low + (high - low) / 2;
      if (!schedule_.Has(middle) || IsReached(middle, item)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    if (!schedule_.Has(low)) return std::nullopt;
    return low;
  }

 private:
  bool IsReached(uint64_t step, uint64_t item) const {
    return before_(schedule_.FirstSample(step)) >= item;
  }

  const Schedule& schedule_;
  const ItemsBefore& before_;
};

}  // namespace

bool HasNestedStages(const Node& node) {
  return !node.stages.empty() ||
         std::any_of(node.children.begin(), node.children.end(),
                     HasNestedStages);
}

bool HasStagePlacedByRun(const Node& node) {
  return std::any_of(node.stages.begin(), node.stages.end(),
                     [](const RunStage& stage) {
                       return stage.start.unit != RunPoint::Unit::kSamples;
                     }) ||
         std::any_of(node.children.begin(), node.children.end(),
                     HasStagePlacedByRun);
}

absl::StatusOr<std::optional<MixturePlan>> PlanOfNested(
    const Node& mixture, const MixtureOptions& options,
    const ItemsBefore& before, const Schedule* schedule, bool is_root) {
  const auto any_child = [&](bool (*has)(const Node&)) {
    return std::any_of(mixture.children.begin(), mixture.children.end(), has);
  };
  if (schedule == nullptr || !any_child(HasNestedStages) ||
      mixture.mixture.stop_rule != StopRule::kRestart) {
    return std::optional<MixturePlan>();
  }
  if (is_root) return std::optional<MixturePlan>(*schedule->mixture());
  if (before == nullptr) return std::optional<MixturePlan>();
  absl::StatusOr<MixturePlan> plan =
      MixturePlan::Create(options, WeightedChildren(mixture));
  if (plan.ok()) return std::optional<MixturePlan>(*std::move(plan));
  // Only to say where stages begin: the mixture itself knows more.
  if (!any_child(HasStagePlacedByRun)) return std::optional<MixturePlan>();
  return plan.status();
}

bool IsOpenMixture(const Node& node) {
  if (ChangesItems(node) || node.repeat) return false;
  if (node.kind == NodeKind::kUse) return IsOpenMixture(node.children[0]);
  return node.kind == NodeKind::kMixture &&
         node.mixture.stop_rule == StopRule::kRestart &&
         std::none_of(
             node.children.begin(), node.children.end(),
             [](const Node& child) { return child.max_epochs.has_value(); });
}

void AppendNestedChanges(const Schedule& schedule, const ItemsBefore& before,
                         const std::string& path, const Node& mixture,
                         const MixtureOptions& options,
                         std::vector<PlannedChange>* changes) {
  const NestedSteps step_from(schedule, before);
  for (size_t i = 0; i < options.stages.size(); ++i) {
    const std::optional<uint64_t> step = step_from(options.stages[i].start);
    if (!step) continue;
    const std::string& name = options.stages[i].name;
    changes->push_back({*step, {StepChange::Kind::kStage, path, name}});
    if (mixture.stages[i].thresholds.empty()) continue;
    changes->push_back({*step, {StepChange::Kind::kThresholds, path, name}});
  }
  AppendShareChanges(options, path, step_from, changes);
}

void AppendThresholdChanges(const Schedule& schedule, const Run& run,
                            std::vector<PlannedChange>* changes) {
  for (size_t i = 0; i < run.stages.size(); ++i) {
    if (run.stages[i].thresholds.empty()) continue;
    changes->push_back(
        {PlannedStageOf(schedule, run, i).start_step,
         {StepChange::Kind::kThresholds, "", run.stages[i].name}});
  }
}

}  // namespace poniente::internal
