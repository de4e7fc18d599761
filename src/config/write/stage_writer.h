// SPDX-License-Identifier: Apache-2.0
// What changes during a run, as tables of TOML.

#ifndef PONIENTE_CONFIG_WRITE_STAGE_WRITER_H_
#define PONIENTE_CONFIG_WRITE_STAGE_WRITER_H_

#include <string>

#include "poniente/run.h"
#include "poniente/schedule.h"

namespace poniente::internal {

// Return the stages of the run and its changes of batch size and length: as
// they are stated; or with every default, at the steps and samples where the
// schedule has put them, and with the changes that stages make among the
// others.
std::string StatedStages(const Run& run);
std::string ResolvedStages(const Run& run, const Schedule& schedule);

// Returns a stage of the mixture at `path`: as it is stated or, if `schedule`
// is not null, at the steps and samples where that puts it.
std::string NestedStage(const std::string& path, const Run& run,
                        const Schedule* schedule, const RunStage& stage);
// Returns a stage as it is stated, as an inline table.
std::string InlineStage(const RunStage& stage);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_WRITE_STAGE_WRITER_H_
