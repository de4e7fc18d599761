// SPDX-License-Identifier: Apache-2.0
#include "index/mixture/stage_ramps.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "index/max_samples.h"
#include "index/mixture/temperature_ramp.h"
#include "util/alike_lines.h"

namespace poniente::internal {
namespace {

constexpr uint64_t kDefaultRampSteps = 256;
constexpr uint64_t kMaxRampSteps = 65536;
// Steps of a ramp that a block size is proposed for.
constexpr uint64_t kSmoothRampSteps = 16;
// Of a ramp with fewer, it is said that it is none.
constexpr uint64_t kFewRampSteps = 4;

uint64_t SmoothBlockSize(uint64_t ramp_samples) {
  return std::max<uint64_t>(1, ramp_samples / kSmoothRampSteps);
}

}  // namespace

std::string MixtureStageLabel(const MixtureStage& stage) {
  if (!stage.label.empty()) return stage.label;
  return stage.name.empty()
             ? absl::StrCat("stage at sample ", stage.start)
             : absl::StrCat("stage '", stage.name, "' at sample ", stage.start);
}

std::string RampLabel(const MixtureStage& stage) {
  return stage.ramp_label.empty() ? absl::StrCat(stage.ramp_samples, " samples")
                                  : stage.ramp_label;
}

absl::StatusOr<Ramp> RampOf(const MixtureStage& stage, uint64_t block_size,
                            uint64_t end) {
  Ramp ramp;
  if (stage.ramp_samples == 0) return ramp;
  const auto divide = [](Uint128 samples, Uint128 size) {
    return static_cast<uint64_t>((samples + size - 1) / size);
  };
  const uint64_t blocks =
      stage.ramp_blocks != 0
          ? stage.ramp_blocks
          : divide(stage.ramp_samples, Uint128{block_size} * kDefaultRampSteps);
  ramp.step_samples = Uint128{blocks} * block_size;
  ramp.steps = divide(stage.ramp_samples, ramp.step_samples);
  if (ramp.steps > kMaxRampSteps) {
    return absl::InvalidArgumentError(
        absl::StrCat(MixtureStageLabel(stage), ": a ramp of ", RampLabel(stage),
                     " in steps of ", blocks, " blocks has ", ramp.steps,
                     " steps, more than ", kMaxRampSteps,
                     "; state a larger ramp_blocks, or none"));
  }
  ramp.stages =
      std::min(ramp.steps + 1, divide(end - stage.start, ramp.step_samples));
  return ramp;
}

uint64_t EndOf(const std::vector<MixtureStage>& stages, size_t s) {
  return s + 1 < stages.size() ? stages[s + 1].start : kMaxSamples;
}

absl::Status CheckRampsAreSmooth(const MixtureOptions& options) {
  const uint64_t block_size = options.block_size;
  std::vector<std::string> errors;
  for (const MixtureStage& stage : options.stages) {
    const uint64_t samples = stage.ramp_samples;
    const bool is_meant = stage.ramp_blocks > 0;
    if (samples == 0 || samples >= block_size || is_meant) continue;
    errors.push_back(absl::StrCat(
        MixtureStageLabel(stage), ": a ramp of ", RampLabel(stage),
        " is shorter than a block of ", block_size,
        " samples, within which shares do not change, so they would jump "
        "twice; for a new run, state block_size = ",
        SmoothBlockSize(samples),
        " or a ramp of several blocks; ramp_blocks = 1 keeps the "
        "jumps, and the order of a run that has begun"));
  }
  if (errors.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(JoinAlikeLines(errors));
}

std::vector<std::string> CoarseRamps(const MixtureOptions& options) {
  std::vector<std::string> found;
  const MixtureStage first;
  for (size_t s = 0; s < options.stages.size(); ++s) {
    const MixtureStage& stage = options.stages[s];
    const MixtureStage& before = s == 0 ? first : options.stages[s - 1];
    const bool changes =
        stage.weights != before.weights ||
        TemperatureOf(options, s) != TemperatureBefore(options, s);
    if (!changes || stage.ramp_samples == 0 || stage.ramp_blocks > 0) continue;
    const absl::StatusOr<Ramp> ramp =
        RampOf(stage, options.block_size, kMaxSamples);
    if (!ramp.ok() || ramp->steps >= kFewRampSteps) continue;
    found.push_back(absl::StrCat(
        MixtureStageLabel(stage), ": a ramp of ", RampLabel(stage),
        " changes the shares in ", ramp->steps + 1,
        " jumps, because they change only between blocks of ",
        options.block_size, " samples; for a new run, block_size = ",
        SmoothBlockSize(stage.ramp_samples),
        " makes it smooth; ramp_blocks = 1 says that the jumps are meant"));
  }
  return found;
}

std::optional<uint64_t> RampEnd(const MixtureStage& stage,
                                uint64_t block_size) {
  const absl::StatusOr<Ramp> ramp = RampOf(stage, block_size, kMaxSamples);
  if (!ramp.ok() || ramp->steps == 0) return std::nullopt;
  return static_cast<uint64_t>(std::min<Uint128>(
      kMaxSamples, stage.start + ramp->steps * ramp->step_samples));
}

bool MovesTemperature(const MixtureOptions& options, size_t s,
                      std::span<const DecidedStage> decided) {
  const uint64_t start = options.stages[s].start;
  const uint64_t last = s == 0 ? 0 : options.stages[s - 1].start;
  return options.stages[s].ramps_temperature &&
         std::none_of(decided.begin(), decided.end(),
                      [&](const DecidedStage& one) {
                        return one.start >= last && one.start < start;
                      });
}

std::vector<TemperatureStep> TemperaturesOf(
    const MixtureOptions& options, std::span<const DecidedStage> decided) {
  std::vector<TemperatureStep> temperatures;
  size_t d = 0;
  const auto add_decided = [&](uint64_t end) {
    for (; d < decided.size() && decided[d].start < end; ++d) {
      temperatures.push_back({decided[d].start, decided[d].temperature});
    }
  };
  if (decided.empty()) temperatures.push_back({0, options.temperature});
  const uint64_t first = decided.empty() ? 0 : decided.front().start;
  for (size_t s = 0; s < options.stages.size(); ++s) {
    const MixtureStage& stage = options.stages[s];
    if (stage.start <= first) continue;
    add_decided(stage.start);
    uint64_t end = EndOf(options.stages, s);
    if (d < decided.size()) end = std::min(end, decided[d].start);
    if (end == stage.start) continue;  // a decision replaces it
    const absl::StatusOr<Ramp> ramp = RampOf(stage, options.block_size, end);
    Uint128 start = stage.start;
    if (ramp.ok() && MovesTemperature(options, s, decided)) {
      const uint64_t steps = std::min(ramp->steps, ramp->stages);
      for (uint64_t i = 0; i < steps; ++i, start += ramp->step_samples) {
        temperatures.push_back(
            {static_cast<uint64_t>(start),
             TemperatureOnRamp(TemperatureBefore(options, s),
                               TemperatureOf(options, s), i, ramp->steps)});
      }
      if (ramp->stages <= ramp->steps) continue;
    }
    temperatures.push_back(
        {static_cast<uint64_t>(start), TemperatureOf(options, s)});
  }
  add_decided(kMaxSamples);
  return temperatures;
}

}  // namespace poniente::internal
