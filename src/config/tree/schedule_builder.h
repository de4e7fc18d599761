// SPDX-License-Identifier: Apache-2.0
// From a checked spec to its schedule.

#ifndef PONIENTE_CONFIG_TREE_SCHEDULE_BUILDER_H_
#define PONIENTE_CONFIG_TREE_SCHEDULE_BUILDER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "config/spec.h"
#include "poniente/schedule.h"

namespace poniente::internal {

// `items`: of the root mixture's components in the order of declaration, as far
// as they are known and needed.
absl::StatusOr<Schedule> BuildSchedule(
    const RunSpec& run, const std::vector<std::optional<uint64_t>>& items = {});

// What it calls stage `stage` of the spec: it may put one before them.
const PlannedStage& PlannedStageOf(const Schedule& schedule, const RunSpec& run,
                                   size_t stage);

// The first sample of the run at or after a step or token; below 0 from its
// end. OutOfRange if the run has none.
absl::StatusOr<uint64_t> SampleAt(const Schedule& schedule,
                                  const RunPoint& point);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_TREE_SCHEDULE_BUILDER_H_
