// SPDX-License-Identifier: Apache-2.0
#include "config/tree/nested_changes.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "config/tree/schedule_builder.h"
#include "index/schedule/step_changes.h"

namespace poniente::internal {

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
  const auto step_from = [&](uint64_t item) {
    return StepFromItem(schedule, before, item);
  };
  for (size_t i = 0; i < options.stages.size(); ++i) {
    const uint64_t start = options.stages[i].start;
    const std::optional<uint64_t> step = step_from(start);
    if (!step) continue;
    const std::string& name = options.stages[i].name;
    changes->push_back({*step, {StepChange::Kind::kStage, path, name}, start});
    if (mixture.stages[i].thresholds.empty()) continue;
    changes->push_back(
        {*step, {StepChange::Kind::kThresholds, path, name}, start});
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
