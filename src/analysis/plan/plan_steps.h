// SPDX-License-Identifier: Apache-2.0
// The steps of a planned run, which may be another number than its schedule
// says: stages, stretches, and which samples and tokens lie between.

#ifndef PONIENTE_ANALYSIS_PLAN_PLAN_STEPS_H_
#define PONIENTE_ANALYSIS_PLAN_PLAN_STEPS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/plan/planned_run.h"
#include "poniente/loader.h"
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
  // Samples per window.
  uint32_t parts = 1;
};

// Steps beyond the schedule's last are like it.
class RunSteps {
 public:
  // `length`: samples that there are; nullopt if endless. Errors as MakePlan().
  static absl::StatusOr<RunSteps> Create(const Schedule& schedule,
                                         std::optional<uint64_t> length,
                                         LastBatch last_batch,
                                         std::optional<uint64_t> steps);

  uint64_t steps() const { return steps_; }
  uint64_t samples() const { return samples_; }
  // Samples were asked for that are not there.
  bool is_cut_short() const { return is_cut_short_; }
  // In their order; they cover the run.
  const std::vector<RunInterval>& intervals() const { return intervals_; }

  // As far as there are so many samples.
  uint64_t FirstSample(uint64_t step) const;
  uint64_t StepOf(uint64_t sample) const;
  const RunInterval& IntervalOf(uint64_t step) const;
  // Of a stage that begins within the run.
  RunStage Stage(size_t stage) const;
  size_t stages() const;
  double LrScale(uint64_t step) const;

 private:
  RunSteps(const Schedule& schedule) : schedule_(schedule) {}

  absl::Status SetEnd(std::optional<uint64_t> length, LastBatch last_batch,
                      std::optional<uint64_t> steps);
  void AddIntervals();
  const Stretch& StretchOf(uint64_t step) const;

  Schedule schedule_;
  uint64_t steps_ = 0;
  uint64_t samples_ = 0;
  bool is_cut_short_ = false;
  std::vector<RunInterval> intervals_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_ANALYSIS_PLAN_PLAN_STEPS_H_
