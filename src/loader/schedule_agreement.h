// SPDX-License-Identifier: Apache-2.0
// Compares the root mixture of a tree with the schedule that describes it.

#ifndef PONIENTE_LOADER_SCHEDULE_AGREEMENT_H_
#define PONIENTE_LOADER_SCHEDULE_AGREEMENT_H_

#include "absl/status/status.h"
#include "poniente/extend/dataset_node.h"
#include "poniente/schedule.h"

namespace poniente::internal {

// Returns OK unless the schedule says something about the root mixture that is
// not so: names, shares at any stage, block size and seed if it was given the
// components, and else the starts of its stages. Both are stated by the user,
// one for the data and one for what StepPlan says of them.
//
// A mixture below nodes that pass on its items one by one counts as the root.
// Below other nodes (a shuffle, a slice that does not begin at 0), samples of
// the run are not those of the mixture: then nothing is compared.
//
// Errors: InvalidArgument, with both values and the remedy.
// Complexity: O(components) for each stage and each step of a ramp.
absl::Status CheckScheduleAgrees(const DatasetNode& root,
                                 const Schedule& schedule);

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_SCHEDULE_AGREEMENT_H_
