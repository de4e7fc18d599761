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

// Appends a warning if the evaluation reads documents that training, with the
// changes of its journal, may read, too.
void WarnOfTrained(const Run& run, std::span<const JournalEntry> journal,
                   const std::vector<ConfigSource>& trained,
                   const RunEval& eval, const std::vector<ConfigSource>& read,
                   std::vector<std::string>* warnings);

// Returns warnings that WarnOfTrained() gives once `entry` is in `journal`, but
// did not before: of a source of weight 0 that is drawn from now on.
std::vector<std::string> NewlyTrained(const Config& config,
                                      const Journal& journal,
                                      const JournalEntry& entry);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_EVALS_H_
