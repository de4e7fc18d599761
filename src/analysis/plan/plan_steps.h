// SPDX-License-Identifier: Apache-2.0
// The steps of a planned run: its stages, its stretches, and their samples. The
// number of steps may differ from that of the schedule.

#ifndef PONIENTE_ANALYSIS_PLAN_PLAN_STEPS_H_
#define PONIENTE_ANALYSIS_PLAN_PLAN_STEPS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "poniente/loader.h"
#include "poniente/plan.h"
#include "poniente/schedule.h"

namespace poniente::internal {

// Steps of one stage, batch size and length.
struct RunInterval {
  uint64_t first_step = 0;
  uint64_t end_step = 0;
  uint64_t first_sample = 0;
  uint64_t end_sample = 0;
  uint64_t batch_size = 1;
  uint32_t seq_len = 1;
  uint32_t stage = 0;
  // Samples per window, and tokens from one to the next.
  uint32_t parts = 1;
  uint32_t part_tokens = 1;
};

// The steps of a run. Steps after the schedule's last one are like the last
// one.
class RunSteps {
 public:
  // `length`: the number of samples that the dataset has; nullopt if it is
  // endless. Errors as MakePlan().
  static absl::StatusOr<RunSteps> Create(const Schedule& schedule,
                                         std::optional<uint64_t> length,
                                         LastBatch last_batch,
                                         std::optional<uint64_t> steps);

  uint64_t steps() const { return steps_; }
  uint64_t samples() const { return samples_; }
  // Returns whether the run ends early because the dataset has too few samples.
  bool is_cut_short() const { return is_cut_short_; }
  // Returns the intervals in order; together they cover the run.
  const std::vector<RunInterval>& intervals() const { return intervals_; }

  // Returns the first sample of the step, at most samples().
  uint64_t FirstSample(uint64_t step) const;
  uint64_t StepOf(uint64_t sample) const;
  const RunInterval& IntervalOf(uint64_t step) const;
  // Returns a stage. REQUIRES: it begins within the run.
  PlannedRunStage Stage(size_t stage) const;
  size_t stages() const;
  double LrScale(uint64_t step) const;
  // Returns the tokens that parts of an item share.
  uint32_t sample_overlap() const {
    return schedule_.mixture_options().sample_overlap;
  }

 private:
  RunSteps(const Schedule& schedule) : schedule_(schedule) {}

  absl::Status SetEnd(std::optional<uint64_t> length, LastBatch last_batch,
                      std::optional<uint64_t> steps);
  void AddIntervals();
  struct Ramp {
    // The sample from which the stage's shares stay as they are: the end of its
    // ramp, or a stage or change of the journal that ends the ramp before. The
    // stage's start if it has no ramp.
    uint64_t end = 0;
    bool is_cut = false;  // by a stage or a change
  };
  Ramp RampOf(const PlannedStage& planned) const;
  const Stretch& StretchOf(uint64_t step) const;

  Schedule schedule_;
  uint64_t steps_ = 0;
  uint64_t samples_ = 0;
  bool is_cut_short_ = false;
  std::vector<RunInterval> intervals_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_ANALYSIS_PLAN_PLAN_STEPS_H_
