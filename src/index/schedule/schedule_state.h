// SPDX-License-Identifier: Apache-2.0
// The state that copies of a Schedule share.

#ifndef PONIENTE_INDEX_SCHEDULE_SCHEDULE_STATE_H_
#define PONIENTE_INDEX_SCHEDULE_SCHEDULE_STATE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "poniente/mixture_plan.h"
#include "poniente/schedule.h"

namespace poniente {

struct Schedule::State {
  std::vector<PlannedStage> stages;
  std::vector<Stretch> stretches;
  uint64_t steps = 0;  // 0: no end
  uint64_t samples = 0;
  uint64_t tokens = 0;
  uint32_t max_seq_len = 0;
  bool states_max_seq_len = false;
  bool trim = false;
  MixtureOptions mixture_options;
  std::optional<MixturePlan> mixture;
};

}  // namespace poniente

#endif  // PONIENTE_INDEX_SCHEDULE_SCHEDULE_STATE_H_
