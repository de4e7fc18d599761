// SPDX-License-Identifier: Apache-2.0
// What changes between the steps of a schedule.

#ifndef PONIENTE_INDEX_SCHEDULE_STEP_CHANGES_H_
#define PONIENTE_INDEX_SCHEDULE_STEP_CHANGES_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "poniente/mixture_plan.h"
#include "poniente/schedule.h"

namespace poniente::internal {

// Returns the first step that begins at or after a sample of a mixture; nullopt
// if the run has no such step.
using StepFrom = std::function<std::optional<uint64_t>(uint64_t sample)>;

// Appends where the shares of a mixture change: at the start of each stage, and
// where its ramp ends. A ramp has no end if the next stage begins before or
// there. `mixture` is the path of a nested mixture, "" for the root.
// Complexity: O(stages) calls of `step_from`.
void AppendShareChanges(const MixtureOptions& options,
                        const std::string& mixture, const StepFrom& step_from,
                        std::vector<PlannedChange>* changes);

// Returns the changes of a schedule: its stages, sizes and shares. `options`
// has the mixture's stages (Schedule::mixture_options()).
std::vector<PlannedChange> ChangesOf(const Schedule& schedule,
                                     const MixtureOptions& options);

// Returns the changes that decisions about the root mixture make, in their
// order; those that the run does not reach are left out.
std::vector<PlannedChange> ChangesOf(
    const Schedule& schedule, std::span<const MixtureDecision> decisions);

// Returns the step that a sample lies in; the number of steps for one that the
// run does not reach.
inline uint64_t StepOrEnd(const Schedule& schedule, uint64_t sample) {
  const bool has_it = schedule.steps() == 0 || sample < schedule.samples();
  return has_it ? schedule.StepOf(sample) : schedule.steps();
}

// Returns the first step whose samples all come at or after an item of a nested
// mixture; nullopt if the run has none. `before` returns how many of its items
// the first samples of the run begin.
// Complexity: O(log steps) calls of `before`.
std::optional<uint64_t> StepFromItem(
    const Schedule& schedule,
    const std::function<uint64_t(uint64_t sample)>& before, uint64_t item);

// Erases the ends of ramps of the root mixture that still run where a decision
// holds: they have no end any more. `changes` are in the order of steps.
void EraseRampEnds(std::span<const PlannedChange> decisions,
                   std::vector<PlannedChange>* changes);

// Puts changes in the order of steps, those of the run before those of nested
// mixtures. Leaves out those at step 0, beyond the run, and repeated ones.
std::vector<PlannedChange> SortedChanges(const Schedule& schedule,
                                         std::vector<PlannedChange> changes);

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_SCHEDULE_STEP_CHANGES_H_
