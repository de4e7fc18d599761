// SPDX-License-Identifier: Apache-2.0
#include "poniente/schedule.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "index/int128.h"
#include "util/check.h"
#include "util/status_macros.h"

namespace poniente {
namespace {

constexpr uint64_t kMaxSamples = uint64_t{1} << 62;

bool TooManySamples(uint64_t steps, uint64_t batch_size) {
  return internal::Uint128{steps} * batch_size > kMaxSamples;
}

// "stage 2 ('code')", as errors name it.
std::string StageLabel(const ScheduleOptions& options, size_t stage) {
  const std::string& name = options.stages[stage].name;
  return name.empty() ? absl::StrCat("stage ", stage)
                      : absl::StrCat("stage ", stage, " ('", name, "')");
}

absl::Status CheckStage(const ScheduleOptions& options, size_t s) {
  const ScheduleStage& stage = options.stages[s];
  const std::string label = StageLabel(options, s);
  if (s > 0 && stage.start_step <= options.stages[s - 1].start_step) {
    return absl::InvalidArgumentError(
        absl::StrCat(label, " starts at step ", stage.start_step,
                     ", which is not after ", StageLabel(options, s - 1),
                     " at step ", options.stages[s - 1].start_step));
  }
  if (options.steps > 0 && stage.start_step >= options.steps) {
    return absl::InvalidArgumentError(
        absl::StrCat(label, " starts at step ", stage.start_step,
                     ", but the run ends after ", options.steps, " steps"));
  }
  if (TooManySamples(stage.start_step, options.batch_size)) {
    return absl::InvalidArgumentError(absl::StrCat(
        label, " starts at step ", stage.start_step,
        ", after more than 2^62 samples in batches of ", options.batch_size));
  }
  if (!std::isfinite(stage.lr_scale) || stage.lr_scale <= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("lr_scale of ", label, " must be finite and above 0, got ",
                     stage.lr_scale));
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
  // One step at least, also of a run without end.
  if (TooManySamples(std::max<uint64_t>(options.steps, 1),
                     options.batch_size)) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.steps, " steps of batch_size ", options.batch_size,
                     " are more than 2^62 samples"));
  }
  for (size_t s = 0; s < options.stages.size(); ++s) {
    PONIENTE_RETURN_IF_ERROR(CheckStage(options, s));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Schedule> Schedule::Create(ScheduleOptions options) {
  PONIENTE_RETURN_IF_ERROR(CheckOptions(options));
  if (options.stages.empty() || options.stages.front().start_step > 0) {
    options.stages.insert(options.stages.begin(), ScheduleStage());
  }
  return Schedule(std::move(options));
}

Schedule::Schedule(ScheduleOptions options)
    : options_(std::make_shared<const ScheduleOptions>(std::move(options))) {}

bool Schedule::Has(uint64_t step) const {
  if (options_->steps != 0) return step < options_->steps;
  return step < UINT64_MAX && !TooManySamples(step + 1, options_->batch_size);
}

StepPlan Schedule::At(uint64_t step) const {
  PONIENTE_CHECK(Has(step)) << step << " of " << options_->steps;
  const auto after =
      std::upper_bound(options_->stages.begin(), options_->stages.end(), step,
                       [](uint64_t at, const ScheduleStage& stage) {
                         return at < stage.start_step;
                       });
  const ScheduleStage& stage = *std::prev(after);
  StepPlan plan;
  plan.step = step;
  plan.first_sample = FirstSample(step);
  plan.batch_size = options_->batch_size;
  plan.seq_len = options_->seq_len;
  plan.lr_scale = stage.lr_scale;
  plan.stage = static_cast<uint32_t>(after - options_->stages.begin()) - 1;
  plan.stage_name = stage.name;
  plan.is_boundary = plan.stage > 0 && stage.start_step == step;
  return plan;
}

uint64_t Schedule::FirstSample(uint64_t step) const {
  PONIENTE_CHECK(options_->steps == 0 || step <= options_->steps)
      << step << " of " << options_->steps;
  PONIENTE_CHECK(!TooManySamples(step, options_->batch_size)) << step;
  return step * options_->batch_size;
}

uint64_t Schedule::steps() const { return options_->steps; }

std::span<const ScheduleStage> Schedule::stages() const {
  return options_->stages;
}

BatchShare RankShare(uint64_t batch_size, uint32_t rank, uint32_t ranks) {
  PONIENTE_CHECK(rank < ranks) << rank << " of " << ranks;
  const auto edge = [&](uint64_t r) {
    return static_cast<uint64_t>(internal::Uint128{r} * batch_size / ranks);
  };
  return {edge(rank), edge(uint64_t{rank} + 1)};
}

}  // namespace poniente
