// SPDX-License-Identifier: Apache-2.0
// Turns what a user states about a mixture's weights, stages and ramps into the
// stages of its plan.

#ifndef PONIENTE_INDEX_MIXTURE_MIXTURE_STAGES_H_
#define PONIENTE_INDEX_MIXTURE_MIXTURE_STAGES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "index/mixture/stage_plan.h"
#include "index/mixture/stage_ramps.h"
#include "poniente/mixture_plan.h"

namespace poniente::internal {

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

// Returns the weights of a stage of the options, in canonical order.
std::vector<double> WeightsOf(const MixtureStage& stage,
                              const std::vector<WeightedComponent>& components);

// Returns `plan` up to the first decision; from there on the decisions, and the
// stages of the options that begin after it: each holds until the next begins.
// A stage that begins where a decision does is passed over. Retired components
// have no weight. `plan` was made of the same options, components, lengths and
// starts. REQUIRES: starts of decisions increase strictly from above 0. Errors
// as MakeStagePlan().
absl::StatusOr<std::shared_ptr<const StagePlan>> WithDecided(
    const StagePlan& plan, const MixtureOptions& options,
    const std::vector<WeightedComponent>& components,
    const std::vector<SeqLenChange>& seq_lens,
    std::span<const uint64_t> further_starts,
    std::span<const DecidedStage> decided);

// Returns the plan with a further component as number `number`, which has never
// been drawn: all samples are dealt as before. Complexity: that of making all
// stages. Errors as MakeStagePlan().
absl::StatusOr<std::shared_ptr<const StagePlan>> WithUndrawn(
    const StagePlan& plan, const MixtureOptions& options, size_t number);

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_MIXTURE_MIXTURE_STAGES_H_
