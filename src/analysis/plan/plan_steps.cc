// SPDX-License-Identifier: Apache-2.0
#include "analysis/plan/plan_steps.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "index/int128.h"
#include "index/max_samples.h"
#include "index/mixture/mixture_stages.h"
#include "index/mixture/stage_plan.h"
#include "index/part_at.h"
#include "poniente/mixture_plan.h"
#include "util/status_macros.h"

namespace poniente::internal {
absl::StatusOr<RunSteps> RunSteps::Create(const Schedule& schedule,
                                          std::optional<uint64_t> length,
                                          LastBatch last_batch,
                                          std::optional<uint64_t> steps) {
  RunSteps run(schedule);
  PONIENTE_RETURN_IF_ERROR(run.SetEnd(length, last_batch, steps));
  run.AddIntervals();
  return run;
}

const Stretch& RunSteps::StretchOf(uint64_t step) const {
  return PartAt(schedule_.stretches(), step, &Stretch::first_step);
}

uint64_t RunSteps::FirstSample(uint64_t step) const {
  const Stretch& stretch = StretchOf(step);
  const Uint128 sample =
      Uint128{step - stretch.first_step} * stretch.batch_size +
      stretch.first_sample;
  return sample < samples_ ? static_cast<uint64_t>(sample) : samples_;
}

uint64_t RunSteps::StepOf(uint64_t sample) const {
  const Stretch& stretch =
      PartAt(schedule_.stretches(), sample, &Stretch::first_sample);
  return stretch.first_step +
         (sample - stretch.first_sample) / stretch.batch_size;
}

absl::Status RunSteps::SetEnd(std::optional<uint64_t> length,
                              LastBatch last_batch,
                              std::optional<uint64_t> steps) {
  steps_ = steps.value_or(schedule_.steps());
  if (steps_ == 0 && !length.has_value()) {
    return absl::FailedPreconditionError(
        "the run has no end: state its steps or its tokens (data.steps or "
        "data.total_tokens), or how many steps are to be planned");
  }
  samples_ = kMaxSamples;
  if (steps_ > 0) {
    samples_ = FirstSample(steps_);
    if (samples_ == kMaxSamples) {
      return absl::InvalidArgumentError(
          absl::StrCat(steps_, " steps have 2^62 samples or more; plan fewer"));
    }
  }
  if (!length.has_value() || *length >= samples_) return absl::OkStatus();
  // The data end first.
  is_cut_short_ = steps_ > 0;
  samples_ = *length;
  if (*length == 0) {
    steps_ = 0;
    return absl::OkStatus();
  }
  steps_ = StepOf(*length - 1) + 1;
  const bool is_short = StepOf(*length) < steps_;
  if (is_short && last_batch == LastBatch::kDrop) {
    samples_ = FirstSample(--steps_);
  }
  return absl::OkStatus();
}

void RunSteps::AddIntervals() {
  std::vector<uint64_t> starts = {0};
  for (const PlannedStage& stage : schedule_.stages()) {
    starts.push_back(stage.start_step);
  }
  for (const Stretch& stretch : schedule_.stretches()) {
    starts.push_back(stretch.first_step);
  }
  std::sort(starts.begin(), starts.end());
  starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
  const bool is_trimmed =
      schedule_.cuts_items() && schedule_.mixture_options().trim;
  const uint32_t overlap = schedule_.mixture_options().sample_overlap;
  for (size_t i = 0; i < starts.size() && starts[i] < steps_; ++i) {
    const Stretch& stretch = StretchOf(starts[i]);
    RunInterval& interval = intervals_.emplace_back();
    interval.first_step = starts[i];
    interval.end_step =
        i + 1 < starts.size() ? std::min(steps_, starts[i + 1]) : steps_;
    interval.first_sample = FirstSample(interval.first_step);
    interval.end_sample = FirstSample(interval.end_step);
    interval.batch_size = stretch.batch_size;
    interval.seq_len = stretch.seq_len;
    const auto stages = schedule_.stages();
    interval.stage = static_cast<uint32_t>(
        &PartAt(stages, starts[i], &PlannedStage::start_step) - stages.data());
    if (!is_trimmed) {
      interval.parts =
          (schedule_.max_seq_len() - overlap) / (stretch.seq_len - overlap);
    }
    // What parts share is read twice.
    interval.part_tokens = stretch.seq_len - overlap;
  }
}

const RunInterval& RunSteps::IntervalOf(uint64_t step) const {
  return PartAt(intervals_, step, &RunInterval::first_step);
}

size_t RunSteps::stages() const {
  return intervals_.empty() ? 0 : intervals_.back().stage + 1;
}

double RunSteps::LrScale(uint64_t step) const {
  if (schedule_.Has(step)) return schedule_.At(step).lr_scale;
  return schedule_.At(schedule_.steps() - 1).lr_scale;
}

PlannedRunStage RunSteps::Stage(size_t number) const {
  const PlannedStage& planned = schedule_.stages()[number];
  PlannedRunStage stage;
  stage.name = StageLabel(planned);
  stage.first_step = planned.start_step;
  for (const RunInterval& interval : intervals_) {
    if (interval.stage != number) continue;
    const uint64_t samples = interval.end_sample - interval.first_sample;
    stage.end_step = interval.end_step;
    stage.samples += samples;
    stage.tokens += samples * interval.seq_len;
    stage.stretches.push_back({interval.first_step, interval.end_step,
                               interval.batch_size, interval.seq_len});
  }
  stage.lr_scale = LrScale(stage.first_step);
  stage.last_lr_scale = LrScale(stage.end_step - 1);
  const uint64_t end = FirstSample(stage.end_step);
  const Ramp ramp = RampOf(planned);
  if (ramp.end > planned.start_sample) {
    stage.ramp_end_step =
        ramp.end < end ? StepOf(ramp.end - 1) + 1 : stage.end_step;
    stage.is_ramp_cut = ramp.is_cut || ramp.end > end;
  }
  return stage;
}

RunSteps::Ramp RunSteps::RampOf(const PlannedStage& planned) const {
  if (planned.ramp_samples == 0) return {planned.start_sample};
  // Whole steps of the ramp, which may end after what was stated.
  const uint64_t end = RampEnd({.start = planned.start_sample,
                                .ramp_samples = planned.ramp_samples,
                                .ramp_blocks = planned.ramp_blocks},
                               schedule_.mixture_options().block_size)
                           .value_or(planned.start_sample);
  const MixturePlan* const mixture = schedule_.mixture();
  if (mixture == nullptr) return {end};
  // A decision about the mixture is a stated stage, too.
  const StagePlan& plan = *mixture->stages();
  const size_t stated = plan.StatedAt(planned.start_sample);
  if (plan.stated()[stated].ramp_end == 0) return {planned.start_sample};
  if (stated + 1 == plan.stated().size()) return {end};
  const uint64_t next = plan.stated()[stated + 1].start;
  return {std::min(end, next), next < end};
}

}  // namespace poniente::internal
