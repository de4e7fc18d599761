// SPDX-License-Identifier: Apache-2.0
// Makes the schedule of a checked run.

#ifndef PONIENTE_CONFIG_TREE_SCHEDULE_BUILDER_H_
#define PONIENTE_CONFIG_TREE_SCHEDULE_BUILDER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "config/run_nodes.h"
#include "poniente/schedule.h"

namespace poniente::internal {

// Returns the options that a description states, without stages.
MixtureOptions MixtureOptionsOf(const NodeMixture& mixture);

// Returns each line of the error with the place in front of it where the stage
// stands that it is about: the line then begins with it, "stage 2 ...". Lines
// that are about none get `otherwise`.
absl::Status AtStages(const absl::Status& error,
                      const std::vector<RunStage>& stages,
                      const SourceLocation& otherwise);

// Makes the schedule. `items` are the items per epoch of the root mixture's
// components, in the order of declaration; nullopt where not known. Empty if
// the mixture's weights do not depend on them.
absl::StatusOr<Schedule> BuildSchedule(
    const Run& run, const std::vector<std::optional<uint64_t>>& items = {});

// Makes the same schedule without the mixture, which says where batch sizes
// and lengths change.
absl::StatusOr<Schedule> BuildStretches(const Run& run);

// Returns the planned stage for stage number `stage` of the spec. The numbers
// differ by one if the schedule has put a stage before those of the spec.
const PlannedStage& PlannedStageOf(const Schedule& schedule, const Run& run,
                                   size_t stage);

// Returns the first sample of the run at or after a step or token; a count
// below 0 is taken from the end. OutOfRange if the run does not reach that
// place. REQUIRES: the point is in steps or tokens.
absl::StatusOr<uint64_t> SampleAt(const Schedule& schedule,
                                  const RunPoint& point);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_TREE_SCHEDULE_BUILDER_H_
