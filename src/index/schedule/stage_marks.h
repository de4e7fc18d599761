// SPDX-License-Identifier: Apache-2.0
// The marks of a schedule, where stages, batch sizes and lengths begin, and how
// errors name them.

#ifndef PONIENTE_INDEX_SCHEDULE_STAGE_MARKS_H_
#define PONIENTE_INDEX_SCHEDULE_STAGE_MARKS_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "index/schedule/run_layout.h"
#include "poniente/schedule.h"

namespace poniente::internal {

// Returns the name of a stage for errors, such as "stage 2 ('code')".
std::string StageLabel(size_t stage, const std::string& name);

// Returns whether the stage changes the shares of the root mixture.
inline bool ChangesShares(const PlannedStage& stage) {
  return !stage.weights.empty() || stage.temperature || stage.ramp_samples > 0;
}

// Returns all marks: first stages, then batch sizes, then lengths.
std::vector<StageMark> MarksOf(const ScheduleOptions& options);

// Returns where the mark begins, as it was stated, and which step and sample
// that is: "step 20 (sample 160)", "token 5000 (step 20, sample 160)".
std::string StartText(const StageMark& mark, const RunLayout::Start& start);

// How errors name a planned stage and the length of its ramp.
struct StageTexts {
  std::string label;  // "stage 1 ('late') at step 20 (sample 160)"
  std::string ramp;   // "10 steps (80 samples)"; empty if there is none
};
// Returns the texts of `planned`, which are the stages of the options, after
// one that starts the run if the options have none. `marks` are those of the
// options.
std::vector<StageTexts> StageTextsOf(const ScheduleOptions& options,
                                     const std::vector<StageMark>& marks,
                                     const RunLayout& layout,
                                     std::span<const PlannedStage> planned);

// Returns StartText() of the marks that begin the stretches, in their order.
std::vector<std::string> StretchStartTexts(const RunLayout& layout,
                                           const std::vector<StageMark>& marks);

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_SCHEDULE_STAGE_MARKS_H_
