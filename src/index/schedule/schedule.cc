// SPDX-License-Identifier: Apache-2.0
#include "poniente/schedule.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "index/int128.h"
#include "index/max_samples.h"
#include "index/part_at.h"
#include "index/schedule/run_layout.h"
#include "index/schedule/schedule_state.h"
#include "index/schedule/stage_marks.h"
#include "index/schedule/step_changes.h"
#include "util/check.h"
#include "util/status_macros.h"

namespace poniente {

namespace {

using internal::PartAt;
using internal::RunLayout;
using internal::StageLabel;
using internal::StageMark;
using internal::StartText;

// Most marks: the time of the layout grows with the square of their number.
constexpr size_t kMaxMarks = 4096;

bool TooManySamples(const Stretch& stretch, uint64_t step) {
  return internal::Uint128{step - stretch.first_step} * stretch.batch_size +
             stretch.first_sample >
         internal::kMaxSamples;
}

absl::Status CheckScheduleStage(const ScheduleStage& stage,
                                const std::string& label) {
  if (!std::isfinite(stage.lr_scale) || stage.lr_scale <= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("lr_scale of ", label, " must be finite and above 0, got ",
                     stage.lr_scale));
  }
  const double end = stage.lr_scale_end.value_or(0);
  if (!std::isfinite(end) || end < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("lr_scale_end of ", label,
                     " must be finite and at least 0, got ", end));
  }
  for (const auto& [name, number] : stage.numbers) {
    if (std::isfinite(number)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "number '", name, "' of ", label, " must be finite, got ", number));
  }
  if (stage.is_ramp_centred && !stage.ramp) {
    return absl::InvalidArgumentError(
        absl::StrCat(label, " has no ramp to be centred"));
  }
  if (stage.ramps_temperature && !stage.ramp) {
    return absl::InvalidArgumentError(absl::StrCat(
        label, " has no ramp in which the temperature could move: state one"));
  }
  return absl::OkStatus();
}

// Refuses options of a mixture that follow from the schedule.
absl::Status CheckMixture(const MixtureOptions& mixture) {
  if (!mixture.stages.empty() || !mixture.seq_lens.empty()) {
    return absl::InvalidArgumentError(
        "stages and lengths of a schedule's mixture follow from the "
        "schedule's own: leave them out");
  }
  if (mixture.max_seq_len != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "max_seq_len ", mixture.max_seq_len,
        " of a schedule's mixture would be ignored: state it as max_seq_len of "
        "the schedule"));
  }
  if (mixture.trim || mixture.sample_overlap != 0) {
    const char* const what = mixture.trim ? "trim" : "sample_overlap";
    return absl::InvalidArgumentError(absl::StrCat(
        what, " of a schedule's mixture would be ignored: state it as ", what,
        " of the schedule"));
  }
  return absl::OkStatus();
}

absl::Status CheckOptions(const ScheduleOptions& options) {
  if (options.batch_size < 1) {
    return absl::InvalidArgumentError("batch_size must be at least 1, got 0");
  }
  if (options.seq_len < 1) {
    return absl::InvalidArgumentError("seq_len must be at least 1, got 0");
  }
  if (options.steps > 0 && options.tokens > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("a run ends after a number of steps, ", options.steps,
                     ", or of tokens, ", options.tokens, ": state one"));
  }
  const size_t marks = options.stages.size() + options.batch_sizes.size() +
                       options.seq_lens.size();
  if (marks > kMaxMarks) {
    return absl::InvalidArgumentError(absl::StrCat(
        options.stages.size(), " stages, ", options.batch_sizes.size(),
        " batch_sizes and ", options.seq_lens.size(), " seq_lens are ", marks,
        " changes, more than ", kMaxMarks, "; merge some"));
  }
  PONIENTE_RETURN_IF_ERROR(CheckMixture(options.mixture));
  for (size_t s = 0; s < options.stages.size(); ++s) {
    const ScheduleStage& stage = options.stages[s];
    PONIENTE_RETURN_IF_ERROR(
        CheckScheduleStage(stage, StageLabel(s, stage.name)));
  }
  return absl::OkStatus();
}

// Checks that marks [begin, end) start at different steps, in ascending order.
absl::Status CheckOrder(const RunLayout& layout,
                        const std::vector<StageMark>& marks, size_t begin,
                        size_t end) {
  for (size_t m = begin + 1; m < end; ++m) {
    const RunLayout::Start& start = layout.starts()[m];
    const RunLayout::Start& before = layout.starts()[m - 1];
    if (start.step > before.step) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(marks[m].label, " starts at ", StartText(marks[m], start),
                     ", which is in no later step than ", marks[m - 1].label,
                     " at ", StartText(marks[m - 1], before)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<PlannedStage>> PlanStages(
    const ScheduleOptions& options, const RunLayout& layout) {
  std::vector<PlannedStage> stages;
  if (options.stages.empty() || layout.starts()[0].step > 0) {
    stages.emplace_back();
  }
  for (size_t s = 0; s < options.stages.size(); ++s) {
    const ScheduleStage& stage = options.stages[s];
    const RunLayout::Start& start = layout.starts()[s];
    PlannedStage& planned = stages.emplace_back();
    planned.start_step = start.step;
    planned.stated = static_cast<uint32_t>(s);
    planned.start_sample = start.sample;
    planned.name = stage.name;
    planned.lr_scale = stage.lr_scale;
    planned.lr_scale_end = stage.lr_scale_end;
    planned.weights = stage.weights;
    planned.temperature = stage.temperature;
    planned.numbers = stage.numbers;
    planned.ramp_blocks = stage.ramp_blocks;
    planned.ramps_temperature = stage.ramps_temperature;
    if (stage.ramp) {
      auto samples = layout.SamplesFrom(start, *stage.ramp);
      if (!samples.ok()) {
        return internal::Prepend(samples.status(), StageLabel(s, stage.name));
      }
      planned.ramp_samples = *samples;
    }
    const bool has_weights =
        !stage.weights.empty() || stage.temperature || stage.ramp.has_value();
    if (start.sample == 0 && has_weights) {
      return absl::InvalidArgumentError(absl::StrCat(
          StageLabel(s, stage.name),
          " starts the run: its weights and temperature are those of the "
          "mixture itself, state them there"));
    }
  }
  for (size_t s = 0; s < stages.size(); ++s) {
    if (s + 1 < stages.size()) {
      stages[s].end_step = stages[s + 1].start_step;
    } else if (layout.steps() > 0) {
      stages[s].end_step = layout.steps();
    } else if (stages[s].lr_scale_end) {
      const size_t number = s + options.stages.size() - stages.size();
      return absl::InvalidArgumentError(
          absl::StrCat("lr_scale_end of ", StageLabel(number, stages[s].name),
                       ": a stage without end has no such place"));
    }
    if (stages[s].lr_scale_end) stages[s].lr_end_step = stages[s].end_step;
  }
  return stages;
}

// `starts`: how errors name the starts of the stretches.
absl::StatusOr<uint32_t> MaxSeqLen(const ScheduleOptions& options,
                                   const std::vector<Stretch>& stretches,
                                   const std::vector<std::string>& starts) {
  const auto longest = std::max_element(
      stretches.begin(), stretches.end(),
      [](const auto& a, const auto& b) { return a.seq_len < b.seq_len; });
  if (options.max_seq_len == 0) return longest->seq_len;
  if (longest->seq_len <= options.max_seq_len) return options.max_seq_len;
  return absl::InvalidArgumentError(
      absl::StrCat("seq_len ", longest->seq_len, " from ",
                   starts[static_cast<size_t>(longest - stretches.begin())],
                   " on is above max_seq_len ", options.max_seq_len,
                   ", the tokens per item"));
}

}  // namespace

absl::StatusOr<Schedule> Schedule::Create(ScheduleOptions options) {
  PONIENTE_RETURN_IF_ERROR(CheckOptions(options));
  const std::vector<StageMark> marks = internal::MarksOf(options);
  PONIENTE_ASSIGN_OR_RETURN(
      const RunLayout layout,
      RunLayout::Make({options.steps, options.tokens}, options.batch_size,
                      options.seq_len, marks));
  const size_t stages = options.stages.size();
  const size_t batch_sizes = stages + options.batch_sizes.size();
  PONIENTE_RETURN_IF_ERROR(CheckOrder(layout, marks, 0, stages));
  PONIENTE_RETURN_IF_ERROR(CheckOrder(layout, marks, stages, batch_sizes));
  PONIENTE_RETURN_IF_ERROR(
      CheckOrder(layout, marks, batch_sizes, marks.size()));
  auto state = std::make_shared<State>();
  PONIENTE_ASSIGN_OR_RETURN(state->stages, PlanStages(options, layout));
  state->stage_texts =
      internal::StageTextsOf(options, marks, layout, state->stages);
  state->stretches = layout.stretches();
  state->stretch_starts = internal::StretchStartTexts(layout, marks);
  state->steps = layout.steps();
  state->samples = layout.samples();
  state->tokens = layout.tokens() > UINT64_MAX
                      ? UINT64_MAX
                      : static_cast<uint64_t>(layout.tokens());
  state->states_max_seq_len = options.max_seq_len > 0;
  PONIENTE_ASSIGN_OR_RETURN(
      state->max_seq_len,
      MaxSeqLen(options, state->stretches, state->stretch_starts));
  if (TooManySamples(state->stretches.back(),
                     1 + state->stretches.back().first_step)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a step of batch_size ", state->stretches.back().batch_size,
        " reaches beyond 2^62 samples"));
  }
  state->trim = options.trim;
  state->sample_overlap = options.sample_overlap;
  state->mixture_options = options.mixture;
  Schedule schedule(state);
  if (!options.components.empty()) {
    PONIENTE_ASSIGN_OR_RETURN(
        state->mixture, MixturePlan::Create(schedule.mixture_options(),
                                            std::move(options.components)));
  }
  state->changes = internal::ChangesOf(schedule, schedule.mixture_options());
  return schedule;
}

absl::StatusOr<Schedule> Schedule::Extended(uint64_t steps) const {
  const Stretch& last = state_->stretches.back();
  if (state_->steps == 0 || steps <= state_->steps) {
    return absl::InvalidArgumentError(
        absl::StrCat("a run can be extended to more steps only; it ",
                     state_->steps == 0 ? std::string("has no end")
                                        : absl::StrCat("has ", state_->steps),
                     ", got ", steps));
  }
  if (TooManySamples(last, steps)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a run of ", steps, " steps reaches beyond 2^62 samples"));
  }
  auto state = std::make_shared<State>(*state_);
  const internal::Uint128 tokens = internal::Uint128{steps - state_->steps} *
                                       last.batch_size * last.seq_len +
                                   state_->tokens;
  state->steps = steps;
  state->samples =
      last.first_sample + (steps - last.first_step) * last.batch_size;
  state->tokens =
      tokens > UINT64_MAX ? UINT64_MAX : static_cast<uint64_t>(tokens);
  state->stages.back().end_step = steps;
  return Schedule(std::move(state));
}

Schedule::Schedule(std::shared_ptr<const State> state)
    : state_(std::move(state)) {}

bool Schedule::Has(uint64_t step) const {
  if (state_->steps != 0) return step < state_->steps;
  if (step == UINT64_MAX) return false;
  return !TooManySamples(PartAt(state_->stretches, step, &Stretch::first_step),
                         step + 1);
}

uint64_t Schedule::FirstSample(uint64_t step) const {
  PONIENTE_CHECK(state_->steps == 0 || step <= state_->steps)
      << step << " of " << state_->steps;
  const Stretch& stretch =
      PartAt(state_->stretches, step, &Stretch::first_step);
  PONIENTE_CHECK(!TooManySamples(stretch, step)) << step;
  return stretch.first_sample +
         (step - stretch.first_step) * stretch.batch_size;
}

uint64_t Schedule::StepOf(uint64_t sample) const {
  PONIENTE_CHECK(state_->steps == 0 || sample < state_->samples)
      << sample << " of " << state_->samples;
  const Stretch& stretch =
      PartAt(state_->stretches, sample, &Stretch::first_sample);
  return stretch.first_step +
         (sample - stretch.first_sample) / stretch.batch_size;
}

StepPlan Schedule::At(uint64_t step) const {
  PONIENTE_CHECK(Has(step)) << step << " of " << state_->steps;
  const PlannedStage& stage =
      PartAt(state_->stages, step, &PlannedStage::start_step);
  const Stretch& stretch =
      PartAt(state_->stretches, step, &Stretch::first_step);
  StepPlan plan;
  plan.step = step;
  plan.first_sample = FirstSample(step);
  plan.batch_size = stretch.batch_size;
  plan.seq_len = stretch.seq_len;
  plan.lr_scale = stage.lr_scale;
  if (stage.lr_scale_end) {
    const uint64_t end = *stage.lr_end_step;
    const double way =
        static_cast<double>(std::min(step, end) - stage.start_step) /
        static_cast<double>(end - stage.start_step);
    plan.lr_scale += (*stage.lr_scale_end - stage.lr_scale) * way;
  }
  plan.stage = static_cast<uint32_t>(&stage - state_->stages.data());
  plan.stage_name = stage.name;
  plan.changes = ChangesAt(step);
  plan.is_boundary = !plan.changes.empty();
  plan.numbers = stage.numbers;
  if (state_->mixture) {
    plan.weights = state_->mixture->WeightsAt(plan.first_sample);
    plan.temperature = state_->mixture->TemperatureAt(plan.first_sample);
  }
  return plan;
}

uint64_t Schedule::steps() const { return state_->steps; }
uint64_t Schedule::samples() const { return state_->samples; }
uint64_t Schedule::tokens() const { return state_->tokens; }
uint32_t Schedule::max_seq_len() const { return state_->max_seq_len; }

std::span<const PlannedStage> Schedule::stages() const {
  return state_->stages;
}
std::span<const Stretch> Schedule::stretches() const {
  return state_->stretches;
}
bool Schedule::cuts_items() const {
  return std::any_of(state_->stretches.begin(), state_->stretches.end(),
                     [&](const Stretch& stretch) {
                       return stretch.seq_len != state_->max_seq_len;
                     });
}

MixtureOptions Schedule::MixtureOptionsFrom(MixtureOptions base) const {
  base.stages.clear();
  for (size_t s = 0; s < state_->stages.size(); ++s) {
    const PlannedStage& stage = state_->stages[s];
    const internal::StageTexts& texts = state_->stage_texts[s];
    if (stage.start_sample == 0 || !internal::ChangesShares(stage)) continue;
    base.stages.push_back({stage.start_sample, stage.weights, stage.temperature,
                           stage.ramp_samples, stage.ramp_blocks, stage.name,
                           texts.label, texts.ramp,
                           stage.ramps_temperature && stage.ramp_samples > 0});
  }
  base.seq_lens.clear();
  base.max_seq_len = 0;
  if (!cuts_items() && !state_->states_max_seq_len) return base;
  base.max_seq_len = state_->max_seq_len;
  base.trim = state_->trim;
  base.sample_overlap = state_->sample_overlap;
  for (const Stretch& stretch : state_->stretches) {
    if (!base.seq_lens.empty() &&
        base.seq_lens.back().seq_len == stretch.seq_len) {
      continue;
    }
    base.seq_lens.push_back({stretch.first_sample, stretch.seq_len});
  }
  return base;
}

MixtureOptions Schedule::mixture_options() const {
  return MixtureOptionsFrom(state_->mixture_options);
}

const MixturePlan* Schedule::mixture() const {
  return state_->mixture ? &*state_->mixture : nullptr;
}

}  // namespace poniente
