// SPDX-License-Identifier: Apache-2.0
// What a training step needs to know besides its data: which samples it covers,
// how long they are, in which proportions they are drawn, and which stage it
// belongs to. A pure function of the step.

#ifndef PONIENTE_SCHEDULE_H_
#define PONIENTE_SCHEDULE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/mixture_plan.h"
#include "poniente/shares.h"

namespace poniente {

// A place in a run, or an amount of it.
//
// A count below 0 is taken from the end of the run. A share is a share of all
// steps or of all tokens; the two differ as soon as steps differ in size (with
// growing lengths, half of the tokens come later than half of the steps).
// Shares and counts from the end need a run that ends, and are first rounded to
// the nearest whole count.
//
// The total in a unit may itself depend on where stages begin, for example the
// tokens of a run of 1000 steps whose lengths change. A share of such a total,
// or a count from its end, may be off by one step for each stage. If a schedule
// needs two such totals, it is refused.
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

// A part of the run, up to the start of the next stage.
//
// Weights change exactly at the sample where the stage starts; for a start in
// tokens, at the first sample that begins there; for a start counted from the
// end or given as a share, at a step. Everything else changes with the first
// step that begins at or after the start.
struct ScheduleStage {
  RunPoint start = {};
  // Name returned for each step and used in errors; may be empty.
  std::string name = {};
  // Factor for the trainer's learning rate, above 0. The library only passes it
  // on. Default: 1.
  double lr_scale = 1.0;
  // If set, the factor moves in a straight line from lr_scale at the stage's
  // first step to this value at the step after its last. At least 0; the stage
  // must end.
  std::optional<double> lr_scale_end = std::nullopt;
  // Samples per step and tokens per sample. Unset: unchanged.
  std::optional<uint64_t> batch_size = std::nullopt;
  std::optional<uint32_t> seq_len = std::nullopt;

  // Weights of the root mixture's components. A component that is not named has
  // its own, first weight. A stage without weights, temperature and ramp leaves
  // the shares unchanged. Not allowed in a stage that starts the run: there the
  // components state their weights themselves.
  std::map<std::string, double> weights = {};
  // Temperature of the stage. Unset: the mixture's.
  std::optional<double> temperature = std::nullopt;
  // Length of the ramp: the time in which the shares move in a straight line
  // from the previous ones to this stage's. A count or share of at least 0.
  // Unset: they change at once.
  std::optional<RunPoint> ramp = std::nullopt;
  // Whether the ramp is centred on `start`, which must then have the ramp's
  // unit: the stage, with everything that belongs to it, begins half a ramp
  // earlier.
  bool is_ramp_centred = false;
  // Blocks per step of the ramp, as MixtureStage::ramp_blocks.
  uint32_t ramp_blocks = 0;

  // Other numbers that the trainer wants in this stage: a RoPE factor, ...
  std::map<std::string, double> numbers = {};

  // Whether the ramp moves the temperature, and the shares follow from it, as
  // MixtureStage::ramps_temperature.
  bool ramps_temperature = false;
};

// A change of the batch size, independent of stages.
struct BatchSizeStage {
  RunPoint start = {};
  uint64_t batch_size = 1;

  friend bool operator==(const BatchSizeStage&,
                         const BatchSizeStage&) = default;
};

// A change of the sequence length, independent of stages.
struct SeqLenStage {
  RunPoint start = {};
  uint32_t seq_len = 1;

  friend bool operator==(const SeqLenStage&, const SeqLenStage&) = default;
};

// What a schedule is made from.
struct ScheduleOptions {
  // Steps in the run. 0: the run has no end, or `tokens` states it. Never
  // changes what a step before the end receives, unless a stage is placed by a
  // share or counted from the end.
  uint64_t steps = 0;
  // Tokens in the run, which ends with the first step that reaches this number.
  // 0: `steps` decides.
  uint64_t tokens = 0;
  // Samples per step, over all ranks together. At least 1.
  uint64_t batch_size = 1;
  // Tokens per sample. At least 1.
  uint32_t seq_len = 1;
  // Tokens per item of the datasets; a sample is a part of an item. 0: the
  // longest seq_len of this schedule. State it if lengths may be added later.
  uint32_t max_seq_len = 0;
  // Whether each item serves only its first seq_len tokens.
  bool trim = false;
  // As MixtureOptions::sample_overlap.
  uint32_t sample_overlap = 0;

  // Stages in the order of their starts, which must be different steps; at most
  // 4096 together with `batch_sizes` and `seq_lens`. If no stage starts at step
  // 0, one without a name and with lr_scale 1 is put before them.
  std::vector<ScheduleStage> stages = {};
  // Changes of batch size and sequence length that are independent of stages,
  // in the order of their starts.
  std::vector<BatchSizeStage> batch_sizes = {};
  std::vector<SeqLenStage> seq_lens = {};

  // The root mixture, needed only if the schedule is to return its weights for
  // each step: the components, and the mixture's block_size, weight_rule,
  // temperature, group_items and seed. Leave stages, lengths, max_seq_len, trim
  // and sample_overlap of `mixture` unset: they follow from this schedule.
  std::vector<WeightedComponent> components = {};
  MixtureOptions mixture = {};
};

// Something that changes between two steps.
struct StepChange {
  enum class Kind {
    kStage,       // a stage begins
    kBatchSize,   // another number of samples per step
    kSeqLen,      // another number of tokens per sample
    kWeights,     // a stage's weights or temperature apply at once
    kRampStart,   // they begin to change, by a ramp
    kRampEnd,     // they have arrived at those of the stage
    kThresholds,  // a stage filters components by other thresholds
    kDecision,    // a decision made during the run holds
  };

  Kind kind = Kind::kStage;
  // The nested mixture that changes, by the names from the root down to it,
  // "small/code"; empty for the run itself and its root mixture.
  std::string mixture = {};
  // The name of the stage that the change belongs to, the label of a decision;
  // empty for a stage without a name, and for changes of size.
  std::string stage = {};

  friend bool operator==(const StepChange&, const StepChange&) = default;
};

// Returns "stage", "batch_size", "seq_len", "weights", "ramp", "ramp_end",
// "thresholds" or "decision".
std::string_view StepChangeName(StepChange::Kind kind);
// Returns the change in words: "stage 'late' begins", "seq_len changes",
// "small/code: the ramp of stage 'late' ends".
std::string ToString(const StepChange& change);

// A change, and the first step after it.
struct PlannedChange {
  uint64_t step = 0;
  StepChange change = {};
  // For a nested mixture: the first of its own samples that it holds for.
  uint64_t mixture_sample = 0;

  friend bool operator==(const PlannedChange&, const PlannedChange&) = default;
};

// One step of a schedule.
struct StepPlan {
  uint64_t step = 0;
  // The step covers samples [first_sample, first_sample + batch_size).
  uint64_t first_sample = 0;
  uint64_t batch_size = 0;
  // Tokens per sample.
  uint32_t seq_len = 0;
  double lr_scale = 1.0;
  // Index into Schedule::stages().
  uint32_t stage = 0;
  std::string stage_name = {};
  // Something changes with this step, which is not the first of the run: save a
  // checkpoint before it. `changes` says what.
  bool is_boundary = false;
  // What changes with this step: changes of the run first, then those of nested
  // mixtures, if the schedule was told of them (WithChanges()). The steps of a
  // ramp between its start and its end are no changes.
  std::vector<StepChange> changes = {};
  // Shares of the root mixture's components at the first sample of the step, in
  // the order of their names; empty if the schedule was not given the
  // components.
  std::vector<double> weights = {};
  // Temperature of the stage; 1 without a mixture.
  double temperature = 1.0;
  std::map<std::string, double> numbers = {};
};

// A stage after all places in the run have been resolved.
struct PlannedStage {
  uint64_t start_step = 0;
  // Its number in ScheduleOptions::stages; nullopt for the one put before them.
  std::optional<uint32_t> stated = std::nullopt;
  std::string name = {};
  double lr_scale = 1.0;
  // Factor at the stage's end, if lr_scale moves in a line.
  std::optional<double> lr_scale_end = std::nullopt;
  // The step after the stage's last; nullopt if the run does not end.
  std::optional<uint64_t> end_step = std::nullopt;
  // The step from which lr_scale_end is reached, if lr_scale moves in a line:
  // end_step, unless the run was extended.
  std::optional<uint64_t> lr_end_step = std::nullopt;
  // Sample from which the stage's weights hold, or at which its ramp starts.
  uint64_t start_sample = 0;
  uint64_t ramp_samples = 0;
  uint32_t ramp_blocks = 0;
  std::map<std::string, double> weights = {};
  std::optional<double> temperature = std::nullopt;
  std::map<std::string, double> numbers = {};
  bool ramps_temperature = false;
};

// Returns how a stage is named where people read it: by its name; without one,
// by its place in the description, "stages[2]"; "start" for the stage that is
// put before the first.
std::string StageLabel(const PlannedStage& stage);

// Consecutive steps of one batch size and sequence length, up to the next
// stretch.
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
//     are resolved once, in integers.
// Ownership: a value; copies share one immutable state.
// Thread safety: immutable; any number of threads.
// Complexity: O(log stages) per question. At() also copies the stage's name and
//     numbers, and O(components) weights.
class Schedule {
 public:
  // Returns a schedule. InvalidArgument, naming the stage and the values, if
  // the options break a rule of ScheduleOptions, a start lies at or after the
  // end, a share or a count from the end is used in a run without an end, the
  // run has more than 2^62 samples or a stage would begin beyond them, or
  // MixturePlan refuses the mixture.
  static absl::StatusOr<Schedule> Create(ScheduleOptions options);

  // Returns whether the run has this step. An endless run has all steps whose
  // samples are below 2^62.
  bool Has(uint64_t step) const;

  // Returns everything about a step. REQUIRES: Has(step).
  StepPlan At(uint64_t step) const;

  // Returns the number of samples before `step`. REQUIRES: step <= steps(),
  // unless the run is endless.
  uint64_t FirstSample(uint64_t step) const;

  // Returns the step that serves the sample. REQUIRES: the run has the sample.
  uint64_t StepOf(uint64_t sample) const;

  // Returns the number of steps in the run; 0 if it has no end.
  uint64_t steps() const;
  // Return the samples and tokens in the run; 0 if it has no end. A number of
  // tokens beyond 2^64 - 1 is returned as 2^64 - 1.
  uint64_t samples() const;
  uint64_t tokens() const;

  // Returns all stages; the first starts at step 0.
  std::span<const PlannedStage> stages() const;
  // Returns the stretches of one batch size and sequence length; the first
  // starts at step 0.
  std::span<const Stretch> stretches() const;

  // Returns all changes after the first step, in the order of their steps.
  std::vector<PlannedChange> changes() const;
  // Returns the same schedule with further changes, which it cannot know
  // itself: those of nested mixtures, and of thresholds. Changes at step 0, and
  // at steps that the run does not have, are left out. They change no sample.
  Schedule WithChanges(std::vector<PlannedChange> further) const;
  // Returns those of nested mixtures that it was told of.
  std::vector<PlannedChange> nested_changes() const;
  // Returns the same schedule with `nested` in place of them.
  Schedule WithNestedChanges(std::vector<PlannedChange> nested) const;
  // Returns the same schedule with the decisions among its changes, which are
  // not about the root mixture's shares: of each, only the sample of the run
  // and the label are used. They come in order, also with those of With().
  Schedule WithDecided(std::span<const MixtureDecision> decisions) const;

  // Returns the tokens per item of the datasets; samples are parts of such
  // items.
  uint32_t max_seq_len() const;
  // Returns whether samples are shorter than items in some step.
  bool cuts_items() const;

  // Returns `base` with the stages, ramps and lengths of this schedule. Create
  // the root mixture with the result.
  MixtureOptions MixtureOptionsFrom(MixtureOptions base) const;
  // Returns MixtureOptionsFrom(ScheduleOptions::mixture).
  MixtureOptions mixture_options() const;
  // Returns the plan of the root mixture; null if the schedule was not given
  // the components.
  const MixturePlan* mixture() const;

  // Returns this schedule for a run of `steps` steps, more than it has. The
  // last stage goes on; a factor that moves in a line keeps its last value. No
  // step of before changes, and no place that was stated as a share moves.
  // InvalidArgument if the run has no end, or ends later than this.
  absl::StatusOr<Schedule> Extended(uint64_t steps) const;
  // Returns this schedule with further decisions about the root mixture.
  // Without components, it is this one. Errors of MixturePlan::With().
  absl::StatusOr<Schedule> With(
      std::span<const MixtureDecision> decisions) const;

  // Checks whether a run whose steps before `next_step` were served under
  // `planned` may continue under this schedule: those steps must be the same in
  // both. FailedPrecondition, naming the first difference and the earliest step
  // at which a stage may still begin, if they are not. (Blocks that have been
  // begun are served to their end.)
  //
  // Compares what decides the data: batch sizes, lengths, cuts of items, the
  // mixture's seed, and shares; for the shares, both schedules or neither must
  // have been given the components. Does not compare lr_scale, names and
  // numbers.
  absl::Status CheckContinues(const Schedule& planned,
                              uint64_t next_step) const;

 private:
  struct State;
  explicit Schedule(std::shared_ptr<const State> state);

  std::vector<StepChange> ChangesAt(uint64_t step) const;
  // Parts of CheckContinues(): settings of the whole run, sizes of the steps,
  // and the component that served each sample.
  absl::Status CheckWholeRun(const Schedule& planned) const;
  absl::Status CheckStretches(const Schedule& planned,
                              uint64_t next_step) const;
  absl::Status CheckShares(const Schedule& planned, uint64_t next_step) const;

  std::shared_ptr<const State> state_;
};

}  // namespace poniente

#endif  // PONIENTE_SCHEDULE_H_
