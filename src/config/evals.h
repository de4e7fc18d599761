// SPDX-License-Identifier: Apache-2.0
// Evaluations as runs of their own.

#ifndef PONIENTE_CONFIG_EVALS_H_
#define PONIENTE_CONFIG_EVALS_H_

#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/config.h"
#include "poniente/run.h"

namespace poniente::internal {

// Returns the run that reads the samples of an evaluation once, in its order.
// InvalidArgument, with the evaluation's place, if `held_out` names no source
// that holds something out.
absl::StatusOr<Run> EvalRunOf(const Run& run, const RunEval& eval);

// Checks an evaluation that is open. InvalidArgument if it has no sample, or
// reads a document twice.
absl::Status CheckEval(const RunEval& eval, const Config& opened);

// Returns the paths of nodes that are never drawn: no stage of the description
// gives them a weight, nor does a change of the journal.
std::vector<std::string> UndrawnPaths(const Run& run,
                                      std::span<const JournalEntry> journal);

// Appends a warning for each training source, but those at or below `undrawn`,
// that may read documents that the evaluation reads.
void WarnOfTrained(const std::vector<std::string>& undrawn,
                   const std::vector<ConfigSource>& trained,
                   const RunEval& eval, const std::vector<ConfigSource>& read,
                   std::vector<std::string>* warnings);

// Removes from `undrawn` what `change` gives a weight, and returns the warnings
// of evaluations that read what is drawn from now on.
std::vector<std::string> WarningsOfDrawn(const Config& config,
                                         const RunChange& change,
                                         std::vector<std::string>* undrawn);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_EVALS_H_
