// SPDX-License-Identifier: Apache-2.0
// What a training step needs to know besides its data: which samples it covers,
// how long they are, which stage it belongs to. A pure function of the step.

#ifndef PONIENTE_SCHEDULE_H_
#define PONIENTE_SCHEDULE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace poniente {

// A part of the run, from its first step to the next stage's.
struct ScheduleStage {
  // The first step of the stage.
  uint64_t start_step = 0;
  // Given back for each step, and named in errors; may be empty.
  std::string name;
  // Factor for the trainer's learning rate; the library only hands it on.
  // Above 0.
  double lr_scale = 1.0;
};

struct ScheduleOptions {
  // Steps in the run; 0 if it has no end. Never changes what a step before the
  // end receives.
  uint64_t steps = 0;
  // Samples per step, over all ranks together. At least 1.
  uint64_t batch_size = 1;
  // Tokens per sample. At least 1.
  uint32_t seq_len = 1;
  // In the order of their start steps, no two the same. Without a stage that
  // starts at step 0, one without a name and with lr_scale 1 stands before
  // them.
  std::vector<ScheduleStage> stages;
};

// One step of a schedule.
struct StepPlan {
  uint64_t step = 0;
  // The step covers samples [first_sample, first_sample + batch_size).
  uint64_t first_sample = 0;
  uint64_t batch_size = 0;
  // In tokens.
  uint32_t seq_len = 0;
  double lr_scale = 1.0;
  // Index into Schedule::stages().
  uint32_t stage = 0;
  std::string stage_name;
  // This step is the first of a stage other than the run's first: save a
  // checkpoint before it.
  bool is_boundary = false;
};

// Answers every question about a step.
//
// Determinism: a pure function of the options and the step.
// Ownership: a value; copies share one immutable state.
// Thread safety: immutable; any number of threads.
// Complexity: O(log stages) per question.
class Schedule {
 public:
  // InvalidArgument, naming the stage and the values, if the options are not as
  // ScheduleOptions asks, if a stage starts at or after the end, or if the run
  // counts more than 2^62 samples.
  static absl::StatusOr<Schedule> Create(ScheduleOptions options);

  // False from the end on; in an endless run, from where samples would not be
  // below 2^62.
  bool Has(uint64_t step) const;

  // REQUIRES: Has(step).
  StepPlan At(uint64_t step) const;

  // The number of samples before `step`. REQUIRES: step <= steps(), unless
  // endless.
  uint64_t FirstSample(uint64_t step) const;

  // Steps in the run; 0 if it has no end.
  uint64_t steps() const;

  // All stages; the first starts at step 0.
  std::span<const ScheduleStage> stages() const;

 private:
  explicit Schedule(ScheduleOptions options);

  std::shared_ptr<const ScheduleOptions> options_;
};

// Samples [begin, end) of a step's batch.
struct BatchShare {
  uint64_t begin = 0;
  uint64_t end = 0;

  friend bool operator==(const BatchShare&, const BatchShare&) = default;
};

// What rank `rank` of `ranks` reads of a batch of `batch_size` samples. The
// shares of all ranks follow one another, leave nothing out, and differ in size
// by one at most. REQUIRES: rank < ranks.
BatchShare RankShare(uint64_t batch_size, uint32_t rank, uint32_t ranks);

}  // namespace poniente

#endif  // PONIENTE_SCHEDULE_H_
