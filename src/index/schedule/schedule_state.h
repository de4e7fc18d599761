// SPDX-License-Identifier: Apache-2.0
// The state that copies of a Schedule share.

#ifndef PONIENTE_INDEX_SCHEDULE_SCHEDULE_STATE_H_
#define PONIENTE_INDEX_SCHEDULE_SCHEDULE_STATE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "index/schedule/stage_marks.h"
#include "index/shared_list.h"
#include "poniente/mixture_plan.h"
#include "poniente/schedule.h"

namespace poniente {

struct Schedule::State {
  std::vector<PlannedStage> stages;
  std::vector<Stretch> stretches;
  // How errors name the stages, and the starts of the stretches.
  std::vector<internal::StageTexts> stage_texts;
  std::vector<std::string> stretch_starts;
  uint64_t steps = 0;  // 0: no end
  uint64_t samples = 0;
  uint64_t tokens = 0;
  uint32_t max_seq_len = 0;
  bool states_max_seq_len = false;
  bool trim = false;
  uint32_t sample_overlap = 0;
  MixtureOptions mixture_options;
  std::optional<MixturePlan> mixture;
  std::vector<PlannedChange> changes;  // in the order of steps
  // Those of decisions about the root mixture, in the order of steps.
  internal::SharedList<PlannedChange> decisions;
};

}  // namespace poniente

#endif  // PONIENTE_INDEX_SCHEDULE_SCHEDULE_STATE_H_
