// SPDX-License-Identifier: Apache-2.0
// What a training step needs to know besides its data: which samples it covers,
// how long they are, in which proportions they are drawn, which stage it
// belongs to. A pure function of the step.

#ifndef PONIENTE_SCHEDULE_H_
#define PONIENTE_SCHEDULE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/mixture_plan.h"

namespace poniente {

// A place in a run, or an amount of it.
//
// Counts below 0 are taken from the end of the run. A share is one of all steps
// or of all tokens, which differ as soon as steps differ in size: with lengths
// that grow, half of the tokens come later than half of the steps. Shares, and
// counts from the end, are rounded to the nearest whole count first; they need
// a run that has an end. Where the total they count from follows from where
// stages begin, places may be off by one step for each stage; in two units
// whose totals both follow so, they are refused.
struct RunPoint {
  enum class Unit { kSteps, kSamples, kTokens, kShareOfSteps, kShareOfTokens };

  Unit unit = Unit::kSteps;
  int64_t count = 0;
  double share = 0;

  static RunPoint Step(int64_t count) { return {Unit::kSteps, count, 0}; }
  static RunPoint Sample(int64_t count) { return {Unit::kSamples, count, 0}; }
  static RunPoint Token(int64_t count) { return {Unit::kTokens, count, 0}; }
  static RunPoint ShareOfSteps(double share) {
    return {Unit::kShareOfSteps, 0, share};
  }
  static RunPoint ShareOfTokens(double share) {
    return {Unit::kShareOfTokens, 0, share};
  }

  friend bool operator==(const RunPoint&, const RunPoint&) = default;
};

// A part of the run, up to the next stage's start.
//
// Weights change at the very sample where the stage starts (at the first that
// begins there, for a start in tokens); with a start counted from the end or
// given as a share, at a step. All else changes with the first step that begins
// at or after it.
struct ScheduleStage {
  RunPoint start;
  // Given back for each step, and named in errors; may be empty.
  std::string name = {};
  // Factor for the trainer's learning rate; the library only hands it on.
  // Above 0.
  double lr_scale = 1.0;
  // If set, the factor goes in a straight line from lr_scale at the first step
  // to this at the step after the stage's last. At least 0; the stage must
  // end.
  std::optional<double> lr_scale_end = std::nullopt;
  // Unset: as before.
  std::optional<uint64_t> batch_size = std::nullopt;
  std::optional<uint32_t> seq_len = std::nullopt;

  // Of the root mixture's components. One that is not named has its own, first
  // weight. A stage without weights, temperature and ramp leaves the shares as
  // they are. Not in a stage that starts the run: there, components have
  // theirs.
  std::map<std::string, double> weights = {};
  // Unset: the mixture's.
  std::optional<double> temperature = std::nullopt;
  // How long the shares take to get from those before to this stage's, in a
  // straight line. Unset: no time. Counts and shares of at least 0.
  std::optional<RunPoint> ramp = std::nullopt;
  // The ramp lies on both sides of `start`, which must be of the same unit: the
  // stage, with all that belongs to it, begins half a ramp earlier.
  bool is_ramp_centred = false;
  // As MixtureStage::ramp_blocks.
  uint32_t ramp_blocks = 0;

  // Anything else the trainer wants to know in this stage: a RoPE factor, ...
  std::map<std::string, double> numbers = {};
};

struct BatchSizeStage {
  RunPoint start;
  uint64_t batch_size = 1;
};

struct SeqLenStage {
  RunPoint start;
  uint32_t seq_len = 1;
};

struct ScheduleOptions {
  // Steps in the run; 0 if it has no end, or if `tokens` says where. Never
  // changes what a step before the end receives, unless a stage is placed by a
  // share or from the end.
  uint64_t steps = 0;
  // The run ends with the first step that reaches so many tokens. 0: see steps.
  uint64_t tokens = 0;
  // Samples per step, over all ranks together. At least 1.
  uint64_t batch_size = 1;
  // Tokens per sample. At least 1.
  uint32_t seq_len = 1;
  // Tokens per item of the datasets, of which a sample is a part; 0: the
  // longest seq_len of this schedule. State it if lengths may be added later.
  uint32_t max_seq_len = 0;
  // Serve the first seq_len tokens of each item and leave the rest.
  bool trim = false;

  // In the order of their starts, which must be different steps; 4096 at most,
  // with `batch_sizes` and `seq_lens`. Without a stage that starts at step 0,
  // one without a name and with lr_scale 1 stands before them.
  std::vector<ScheduleStage> stages = {};
  // Batch sizes and lengths that change apart from stages, in the order of
  // their starts.
  std::vector<BatchSizeStage> batch_sizes = {};
  std::vector<SeqLenStage> seq_lens = {};

  // The root mixture, if its weights shall be answered for each step: what it
  // is made of, and its block_size, weight_rule, temperature, group_items and
  // seed. Stages, lengths, max_seq_len and trim of `mixture` stay unset: they
  // follow from here.
  std::vector<WeightedComponent> components = {};
  MixtureOptions mixture = {};
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
  // The step is the first of a stage, a batch size or a sequence length other
  // than the run's first: save a checkpoint before it.
  bool is_boundary = false;
  // Shares of the root mixture's components, in the order of their names, where
  // the step begins; empty if the schedule was not told of them.
  std::vector<double> weights = {};
  // Of the stage; 1 without a mixture.
  double temperature = 1.0;
  std::map<std::string, double> numbers = {};
};

// A stage as it came out.
struct PlannedStage {
  uint64_t start_step = 0;
  std::string name;
  double lr_scale = 1.0;
  // Of the stage's end, where lr_scale is a line.
  std::optional<double> lr_scale_end;
  // The step after the stage's last; nullopt if it has no end.
  std::optional<uint64_t> end_step;
  // From here on its weights hold, or the ramp towards them runs.
  uint64_t start_sample = 0;
  uint64_t ramp_samples = 0;
  uint32_t ramp_blocks = 0;
  std::map<std::string, double> weights;
  std::optional<double> temperature;
  std::map<std::string, double> numbers;
};

// Steps of one batch size and sequence length, up to the next stretch.
struct Stretch {
  uint64_t first_step = 0;
  uint64_t first_sample = 0;
  uint64_t batch_size = 1;
  uint32_t seq_len = 1;

  friend bool operator==(const Stretch&, const Stretch&) = default;
};

// Answers every question about a step.
//
// Determinism: a pure function of the options and the step. Places in the run
//     are resolved once, by integers.
// Ownership: a value; copies share one immutable state.
// Thread safety: immutable; any number of threads.
// Complexity: O(log stages) per question; At() copies the stage's name and
//     numbers, and O(components) weights.
class Schedule {
 public:
  // InvalidArgument, naming the stage and the values, if the options are not as
  // ScheduleOptions asks, if a start lies at or after the end, if a share or a
  // count from the end has no end to count from, if the run counts more than
  // 2^62 samples or a stage would begin there. Further, what MixturePlan
  // refuses.
  static absl::StatusOr<Schedule> Create(ScheduleOptions options);

  // False from the end on; in an endless run, from where samples would not be
  // below 2^62.
  bool Has(uint64_t step) const;

  // REQUIRES: Has(step).
  StepPlan At(uint64_t step) const;

  // The number of samples before `step`. REQUIRES: step <= steps(), unless
  // endless.
  uint64_t FirstSample(uint64_t step) const;

  // The step that serves the sample. REQUIRES: the run has it.
  uint64_t StepOf(uint64_t sample) const;

  // Steps in the run; 0 if it has no end.
  uint64_t steps() const;
  // Samples and tokens in the run; 0 if it has no end. Tokens beyond 2^64 - 1
  // are given as that.
  uint64_t samples() const;
  uint64_t tokens() const;

  // All stages; the first starts at step 0.
  std::span<const PlannedStage> stages() const;
  // Where batch size and sequence length change; the first starts at step 0.
  std::span<const Stretch> stretches() const;

  // Tokens per item of the datasets: samples are parts of such items.
  uint32_t max_seq_len() const;
  // Samples are shorter than items in some step.
  bool cuts_items() const;

  // `base` with the stages, ramps and lengths of this schedule: what the root
  // mixture is to be made with.
  MixtureOptions MixtureOptionsFrom(MixtureOptions base) const;
  // The same from ScheduleOptions::mixture.
  MixtureOptions mixture_options() const;
  // Null if the schedule was not told of components.
  const MixturePlan* mixture() const;

  // Ok if the steps before `next_step`, served under `planned`, are the same
  // under this schedule, so that the run may go on with it. FailedPrecondition,
  // naming the first difference and the earliest step at which a stage may
  // still begin: blocks that have been begun are served to their end.
  //
  // Compares what decides the data: batch sizes, lengths, cuts of items, the
  // mixture's seed, and shares, for which both schedules or neither must have
  // been told of components. Not compared: lr_scale, names and numbers.
  absl::Status CheckContinues(const Schedule& planned,
                              uint64_t next_step) const;

 private:
  struct State;
  explicit Schedule(std::shared_ptr<const State> state);

  // Parts of CheckContinues(): what holds from the first step to the last, and
  // which component served what.
  absl::Status CheckWholeRun(const Schedule& planned) const;
  absl::Status CheckShares(const Schedule& planned, uint64_t next_step) const;

  std::shared_ptr<const State> state_;
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
