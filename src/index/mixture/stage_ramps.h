// SPDX-License-Identifier: Apache-2.0
// The steps of the ramps of a mixture's stages, and the temperatures in force.

#ifndef PONIENTE_INDEX_MIXTURE_STAGE_RAMPS_H_
#define PONIENTE_INDEX_MIXTURE_STAGE_RAMPS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "index/int128.h"
#include "poniente/mixture_plan.h"

namespace poniente::internal {

// Return how errors name a stage, and the length of its ramp.
std::string MixtureStageLabel(const MixtureStage& stage);
std::string RampLabel(const MixtureStage& stage);

// The steps of a stage's ramp.
struct Ramp {
  uint64_t steps = 0;
  Uint128 step_samples = 0;
  // The number of stages of the plan: the steps, and the stage after them, that
  // begin before the next stage.
  uint64_t stages = 1;
};

// Returns the ramp of a stage; `end` is the start of the next stage.
// InvalidArgument if it has more than 65536 steps. REQUIRES: stage.start < end.
absl::StatusOr<Ramp> RampOf(const MixtureStage& stage, uint64_t block_size,
                            uint64_t end);

// Returns where the stage after stages[s] begins.
uint64_t EndOf(const std::vector<MixtureStage>& stages, size_t s);

// Returns OK unless a ramp is shorter than a block, so that the shares would
// jump instead. Stated ramp_blocks say that this is meant. InvalidArgument,
// with the block size that would do, on a line for each of them.
absl::Status CheckRampsAreSmooth(const MixtureOptions& options);

// Returns what to warn of, for each ramp that is no shorter than a block, but
// has fewer than four steps. Stated ramp_blocks say that this is meant.
std::vector<std::string> CoarseRamps(const MixtureOptions& options);

// Returns the sample from which the shares of a stage with a ramp are its own,
// unless the next stage begins before: the end of the last whole step of the
// ramp. nullopt without a ramp.
std::optional<uint64_t> RampEnd(const MixtureStage& stage, uint64_t block_size);

// Weights that were decided after the plan was made.
struct DecidedStage {
  uint64_t start = 0;
  std::vector<double> weights = {};  // or scores; in canonical order
  double temperature = 1;
  // Components that no stage draws from any more.
  std::vector<bool> retired = {};
  // How errors name it.
  std::string label = {};
};

// The temperature from sample `start` on.
struct TemperatureStep {
  uint64_t start = 0;
  double value = 1;
};

// Returns the temperatures of all stages, and those of the steps of ramps that
// move the temperature. With decisions, those from the first decision on, whose
// starts increase strictly. REQUIRES: MakeStagePlan() accepts the options.
std::vector<TemperatureStep> TemperaturesOf(
    const MixtureOptions& options, std::span<const DecidedStage> decided = {});

// Returns whether a stage moves the temperature. After a decision, which may
// have changed the weights, it moves the shares instead, from those that were
// decided.
bool MovesTemperature(const MixtureOptions& options, size_t s,
                      std::span<const DecidedStage> decided);

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_MIXTURE_STAGE_RAMPS_H_
