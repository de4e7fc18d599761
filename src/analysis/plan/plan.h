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

// Returns the plan of the configured run. `steps` replaces the configuration's
// number of steps. FailedPrecondition if neither says where an endless run
// ends; InvalidArgument for a run of 2^62 samples or more, and if it draws a
// component beyond its max_epochs.
//
// Complexity: O(nodes x (stages + stretches)), plus the look-up of at most some
//     hundred thousand samples. It does not depend on the number of samples in
//     the run.
absl::StatusOr<PlannedRun> MakePlan(const Config& config,
                                    std::optional<uint64_t> steps,
                                    double max_repeats = kMaxRepeats);

// Does the same for a tree and a schedule that were not built from a Config.
// `sources` are in the order of DatasetTree::leaves(), or empty if nothing is
// known about them.
absl::StatusOr<PlannedRun> MakePlan(const DatasetNode& root,
                                    const Schedule& schedule,
                                    const std::vector<ConfigSource>& sources,
                                    LastBatch last_batch,
                                    std::optional<uint64_t> steps,
                                    double max_repeats = kMaxRepeats);

}  // namespace poniente::internal

#endif  // PONIENTE_ANALYSIS_PLAN_PLAN_H_
