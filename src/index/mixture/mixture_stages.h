// SPDX-License-Identifier: Apache-2.0
// Turns what a user states about a mixture's weights, stages and ramps into the
// stages of its plan.

#ifndef PONIENTE_INDEX_MIXTURE_MIXTURE_STAGES_H_
#define PONIENTE_INDEX_MIXTURE_MIXTURE_STAGES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "index/mixture/stage_plan.h"
#include "poniente/mixture_plan.h"

namespace poniente::internal {

// Returns OK unless a ramp is shorter than a block, so that the shares would
// jump instead. Stated ramp_blocks say that this is meant. InvalidArgument,
// with the block size that would do.
absl::Status CheckRampsAreSmooth(const MixtureOptions& options);

// Returns the sample from which the shares of a stage with a ramp are its own,
// unless the next stage begins before: the end of the last whole step of the
// ramp. nullopt without a ramp.
std::optional<uint64_t> RampEnd(const MixtureStage& stage, uint64_t block_size);

std::vector<std::string> NamesOf(
    const std::vector<WeightedComponent>& components);

// Returns all stages of a plan, including the steps of ramps, with cuts where
// lengths change and at further starts. `components` are in canonical order.
// Errors: those of MixturePlan::Create() about weights, stages and memory.
absl::StatusOr<std::shared_ptr<const StagePlan>> MakeStagePlan(
    const MixtureOptions& options,
    const std::vector<WeightedComponent>& components,
    const std::vector<SeqLenChange>& seq_lens,
    std::span<const uint64_t> further_starts);

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_MIXTURE_MIXTURE_STAGES_H_
