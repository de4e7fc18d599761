// SPDX-License-Identifier: Apache-2.0
#include "config/tree/nested_places.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "config/tree/schedule_builder.h"
#include "index/int128.h"
#include "index/max_samples.h"
#include "index/part_at.h"
#include "index/schedule/place_text.h"
#include "index/schedule/run_layout.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr uint64_t kLastSample = kMaxSamples - 1;

bool IsOfSteps(const RunPoint& point) {
  return point.unit == RunPoint::Unit::kSteps ||
         point.unit == RunPoint::Unit::kShareOfSteps;
}

bool IsShareOfRun(const RunPoint& point) {
  return point.unit == RunPoint::Unit::kShareOfSteps ||
         point.unit == RunPoint::Unit::kShareOfTokens;
}

// The total that a point is a share of, or is counted from the end of; 0 if the
// run has no end.
uint64_t TotalOf(const Run& run, const Schedule& schedule,
                 const RunPoint& point) {
  if (IsOfSteps(point)) return schedule.steps();
  return run.total_tokens > 0 ? run.total_tokens : schedule.tokens();
}

// The count that a place or an amount is, from the beginning of the run.
absl::StatusOr<int64_t> CountIn(const Run& run, const Schedule* schedule,
                                const RunPoint& point) {
  const bool is_share = IsShareOfRun(point);
  if (!is_share && point.count >= 0) return point.count;
  const uint64_t total = TotalOf(run, *schedule, point);
  if (total == 0) {
    return absl::OutOfRangeError(
        absl::StrCat("starts at ", PlaceText(point),
                     ", but the run has no end: state its steps or tokens"));
  }
  if (is_share) {
    return static_cast<int64_t>(RunLayout::CountOfShare(point.share, total));
  }
  return static_cast<int64_t>(total) + point.count;
}

// The first step that begins at or after a sample of the run. A step after the
// run's last counts as if the run went on.
uint64_t NestedStepFrom(const Schedule& schedule, uint64_t sample) {
  const Stretch& in =
      PartAt(schedule.stretches(), sample, &Stretch::first_sample);
  const uint64_t more = sample - in.first_sample;
  return in.first_step + more / in.batch_size +
         (more % in.batch_size != 0 ? 1 : 0);
}

uint64_t AtMostLast(Uint128 sample) {
  return static_cast<uint64_t>(std::min<Uint128>(sample, kLastSample));
}

uint64_t SampleOfStep(const Schedule& schedule, Uint128 step) {
  const auto known = static_cast<uint64_t>(std::min<Uint128>(step, UINT64_MAX));
  const Stretch& in = PartAt(schedule.stretches(), known, &Stretch::first_step);
  return AtMostLast(in.first_sample +
                    (step - in.first_step) * Uint128{in.batch_size});
}

// The first sample that begins at or after so many tokens from a sample on.
uint64_t SampleAfterTokens(const Schedule& schedule, uint64_t start,
                           uint64_t tokens) {
  const auto stretches = schedule.stretches();
  Uint128 left = tokens;
  Uint128 sample = start;
  for (size_t i = 0; i < stretches.size(); ++i) {
    const bool is_last = i + 1 == stretches.size();
    if (!is_last && stretches[i + 1].first_sample <= sample) continue;
    const Uint128 length = stretches[i].seq_len;
    const Uint128 end = sample + left / length + (left % length != 0 ? 1 : 0);
    if (is_last || end <= stretches[i + 1].first_sample) return AtMostLast(end);
    left -= (stretches[i + 1].first_sample - sample) * length;
    sample = stretches[i + 1].first_sample;
  }
  return AtMostLast(sample);
}

// The sample of the run at which a ramp ends that begins at its sample `start`,
// as if the run went on after its end.
uint64_t RampEndInRun(const Schedule& schedule, uint64_t start,
                      const RunPoint& amount) {
  const auto count = static_cast<uint64_t>(amount.count);
  if (amount.unit == RunPoint::Unit::kTokens) {
    return SampleAfterTokens(schedule, start, count);
  }
  return SampleOfStep(schedule,
                      Uint128{NestedStepFrom(schedule, start)} + count);
}

}  // namespace

absl::StatusOr<RunStage> ResolvedNestedStage(const Run& run,
                                             const Schedule* schedule,
                                             const RunStage& stage) {
  RunStage resolved = stage;
  if (resolved.ramp && IsShareOfRun(*resolved.ramp)) {
    PONIENTE_ASSIGN_OR_RETURN(const int64_t count,
                              CountIn(run, schedule, *resolved.ramp));
    resolved.ramp = IsOfSteps(*resolved.ramp) ? RunPoint::Step(count)
                                              : RunPoint::Token(count);
  }
  const bool is_centred = stage.is_ramp_centred && resolved.ramp;
  if (!IsShareOfRun(stage.start) && !is_centred) return resolved;
  PONIENTE_ASSIGN_OR_RETURN(int64_t count, CountIn(run, schedule, stage.start));
  if (is_centred) count -= resolved.ramp->count / 2;
  resolved.is_ramp_centred = false;
  if (count < 0) {
    return absl::OutOfRangeError(
        absl::StrCat("starts at ", PlaceText(stage.start),
                     " less half of its ramp, which is before the run"));
  }
  if (stage.start.unit == RunPoint::Unit::kSamples) {
    resolved.start = RunPoint::Sample(count);
  } else if (IsOfSteps(stage.start)) {
    resolved.start = RunPoint::Step(count);
  } else {
    resolved.start = RunPoint::Token(count);
    if (!IsShareOfRun(stage.start) && stage.start.count >= 0) return resolved;
    // As for stages of the run: a share begins with a step.
    PONIENTE_ASSIGN_OR_RETURN(const uint64_t sample,
                              SampleAt(*schedule, resolved.start));
    resolved.start =
        RunPoint::Step(static_cast<int64_t>(NestedStepFrom(*schedule, sample)));
  }
  return resolved;
}

absl::StatusOr<MixtureStage> NestedMixtureStage(const Run& run,
                                                const Schedule* schedule,
                                                const ItemsBefore& before,
                                                const RunStage& stated) {
  PONIENTE_ASSIGN_OR_RETURN(const RunStage resolved,
                            ResolvedNestedStage(run, schedule, stated));
  const bool of_run = resolved.start.unit != RunPoint::Unit::kSamples;
  MixtureStage stage;
  stage.start = static_cast<uint64_t>(resolved.start.count);
  uint64_t run_start = 0;
  if (of_run) {
    PONIENTE_ASSIGN_OR_RETURN(run_start, SampleAt(*schedule, resolved.start));
    stage.start = before(run_start);
  }
  if (stage.start == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("starts at ", PlaceText(stated.start),
                     ", before anything is drawn from this mixture"));
  }
  stage.label = absl::StrCat(" at ", PlaceText(stated.start));
  if (of_run || stated.is_ramp_centred) {
    absl::StrAppend(&stage.label, " (sample ", stage.start,
                    " of this mixture)");
  }
  stage.name = stated.name;
  stage.weights = stated.weights;
  stage.temperature = stated.temperature;
  stage.ramp_blocks = stated.ramp_blocks;
  stage.ramps_temperature = stated.ramps_temperature;
  if (!resolved.ramp) return stage;
  stage.ramp_samples = static_cast<uint64_t>(resolved.ramp->count);
  if (resolved.ramp->unit == RunPoint::Unit::kSamples) return stage;
  stage.ramp_samples =
      before(RampEndInRun(*schedule, run_start, *resolved.ramp)) - stage.start;
  stage.ramp_label =
      absl::StrCat(AmountText(*stated.ramp), " (", stage.ramp_samples,
                   " samples of this mixture)");
  return stage;
}

}  // namespace poniente::internal
