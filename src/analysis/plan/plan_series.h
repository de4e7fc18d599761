// SPDX-License-Identifier: Apache-2.0
// A planned run over time: a few hundred points, including each stage and ramp.

#ifndef PONIENTE_ANALYSIS_PLAN_PLAN_SERIES_H_
#define PONIENTE_ANALYSIS_PLAN_PLAN_SERIES_H_

#include "absl/status/status.h"
#include "analysis/plan/plan_steps.h"
#include "poniente/extend/dataset_node.h"
#include "poniente/plan.h"

namespace poniente::internal {

// Fills plan->series. REQUIRES: stages and sources are those of the run.
absl::Status AddSeries(const DatasetNode& root, const RunSteps& run,
                       PlannedRun* plan);

}  // namespace poniente::internal

#endif  // PONIENTE_ANALYSIS_PLAN_PLAN_SERIES_H_
