// SPDX-License-Identifier: Apache-2.0
// The evaluations of a plan.

#ifndef PONIENTE_ANALYSIS_PLAN_PLAN_EVALS_H_
#define PONIENTE_ANALYSIS_PLAN_PLAN_EVALS_H_

#include "absl/status/status.h"
#include "poniente/config.h"
#include "poniente/plan.h"

namespace poniente::internal {

// Fills plan->evals. REQUIRES: all else of the plan is there.
absl::Status PlanEvals(const Config& config, PlannedRun* plan);

}  // namespace poniente::internal

#endif  // PONIENTE_ANALYSIS_PLAN_PLAN_EVALS_H_
