// SPDX-License-Identifier: Apache-2.0
// Compares the root mixture of a tree with the schedule that describes it.

#ifndef PONIENTE_LOADER_STATE_SCHEDULE_AGREEMENT_H_
#define PONIENTE_LOADER_STATE_SCHEDULE_AGREEMENT_H_

#include <cstdint>
#include <string>
#include <vector>

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
// Below other nodes (a shuffle, a slice that does not begin at 0, a concat),
// samples of the run are not those of the mixture; and a node of a user's may
// mix by itself. Then nothing is compared. A root that cannot be a mixture is
// an error if the schedule describes one.
//
// Errors: InvalidArgument, with both values and the remedy.
// Complexity: O(components) for each stage and each step of a ramp.
absl::Status CheckScheduleAgrees(const DatasetNode& root,
                                 const Schedule& schedule);

// The share of one component, in quanta of QuotaTree::kTotal.
struct NamedShare {
  std::string name;
  uint64_t quanta = 0;

  friend bool operator==(const NamedShare&, const NamedShare&) = default;
};

// Returns the shares above 0 of the root mixture at a sample, in the order of
// names; empty if there is none to be seen (as above), or if its lengths are
// not known.
std::vector<NamedShare> SharesAt(const DatasetNode& root, uint64_t sample);

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_STATE_SCHEDULE_AGREEMENT_H_
