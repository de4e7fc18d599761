// SPDX-License-Identifier: Apache-2.0
// Finds where stages of nested mixtures begin, and where their ramps end, if
// they are stated in the run's own terms.

#ifndef PONIENTE_CONFIG_TREE_NESTED_PLACES_H_
#define PONIENTE_CONFIG_TREE_NESTED_PLACES_H_

#include "absl/status/statusor.h"
#include "config/run_nodes.h"
#include "config/tree/nested_changes.h"
#include "poniente/mixture_plan.h"
#include "poniente/schedule.h"

namespace poniente::internal {

// Returns the stage with shares of the run and centred ramps resolved: a start
// that is a share becomes a step, a ramp that is a share becomes a number of
// steps or tokens, and a stage with a centred ramp begins half of it earlier.
// `schedule` may be null if start and ramp count the mixture's own samples.
// OutOfRange if the run does not reach the start, or begins after it.
absl::StatusOr<RunStage> ResolvedNestedStage(const Run& run,
                                             const Schedule* schedule,
                                             const RunStage& stage);

// Returns the stage in the mixture's own samples. `before` says how many of
// them the first samples of the run begin; null is allowed for a stage whose
// start is one of them. `label` is only where the stage begins: " at step 20
// (sample 5 of this mixture)". A ramp that is an amount of the run, and ends
// after it, ends as if the run went on. OutOfRange if the run does not reach
// the start, InvalidArgument if nothing is drawn from the mixture before it.
absl::StatusOr<MixtureStage> NestedMixtureStage(const Run& run,
                                                const Schedule* schedule,
                                                const ItemsBefore& before,
                                                const RunStage& stated);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_TREE_NESTED_PLACES_H_
