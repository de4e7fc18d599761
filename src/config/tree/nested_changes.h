// SPDX-License-Identifier: Apache-2.0
// Finds the steps of the run at which something changes that the schedule does
// not know of: stages of nested mixtures, and thresholds.

#ifndef PONIENTE_CONFIG_TREE_NESTED_CHANGES_H_
#define PONIENTE_CONFIG_TREE_NESTED_CHANGES_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "config/run_nodes.h"
#include "poniente/mixture_plan.h"
#include "poniente/schedule.h"

namespace poniente::internal {

// Returns how many items of a nested mixture the first samples of the run
// begin.
using ItemsBefore = std::function<uint64_t(uint64_t sample)>;

// Returns whether the node or one below it is a mixture with stages of its own.
bool HasNestedStages(const Node& node);
// Returns whether such a stage starts at a place in the run.
bool HasStagePlacedByRun(const Node& node);

// Returns whether the node hands on the items of an endless mixture one by one,
// so that samples of the run say how many of its items have begun.
bool IsOpenMixture(const Node& node);

// Returns the plan of a mixture below which mixtures have stages, to say where
// these begin; nullopt if it is not needed, or cannot say it. `options` are
// those of the mixture, `before` is null where no number of samples says how
// many of its items have begun, `schedule` where there is none yet. Errors as
// MixturePlan::Create(), if a stage below is placed by the run.
absl::StatusOr<std::optional<MixturePlan>> PlanOfNested(
    const Node& mixture, const MixtureOptions& options,
    const ItemsBefore& before, const Schedule* schedule, bool is_root);

// Appends where stages of a nested mixture begin, and what they change: with
// the first step all of whose samples lie in the stage. `path` is the names
// from the root down to the mixture, `options` has its stages in its own
// samples.
// Complexity: O(log steps) calls of `before` for each stage.
void AppendNestedChanges(const Schedule& schedule, const ItemsBefore& before,
                         const std::string& path, const Node& mixture,
                         const MixtureOptions& options,
                         std::vector<PlannedChange>* changes);

// Appends where stages of the run set other thresholds.
void AppendThresholdChanges(const Schedule& schedule, const Run& run,
                            std::vector<PlannedChange>* changes);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_TREE_NESTED_CHANGES_H_
