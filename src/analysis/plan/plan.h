// SPDX-License-Identifier: Apache-2.0
// Works out what a run will read, before it reads anything.

#ifndef PONIENTE_ANALYSIS_PLAN_PLAN_H_
#define PONIENTE_ANALYSIS_PLAN_PLAN_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/plan/planned_run.h"
#include "poniente/config.h"

namespace poniente::internal {

// Repeats beyond about four epochs are worth less than new data (Muennighoff et
// al. 2023, "Scaling Data-Constrained Language Models").
inline constexpr double kMaxRepeats = 4;

// `steps` replaces the configuration's number of steps. FailedPrecondition if
// neither says where an endless run ends; InvalidArgument for a run of 2^62
// samples or more, and if it draws a component beyond its max_epochs.
//
// Complexity: O(nodes x (stages + stretches)), and as much as some hundred
//     thousand samples take to look up; the number of samples has no part in
//     it.
absl::StatusOr<PlannedRun> MakePlan(const Config& config,
                                    std::optional<uint64_t> steps,
                                    double max_repeats = kMaxRepeats);

// The same for a tree and a schedule that were built otherwise. `sources` in
// the order of DatasetTree::leaves(), or empty if nothing is known of them.
absl::StatusOr<PlannedRun> MakePlan(const DatasetNode& root,
                                    const Schedule& schedule,
                                    const std::vector<ConfigSource>& sources,
                                    LastBatch last_batch,
                                    std::optional<uint64_t> steps,
                                    double max_repeats = kMaxRepeats);

}  // namespace poniente::internal

#endif  // PONIENTE_ANALYSIS_PLAN_PLAN_H_
