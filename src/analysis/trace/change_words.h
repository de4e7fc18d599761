// SPDX-License-Identifier: Apache-2.0
// How a change of a run is shown.

#ifndef PONIENTE_ANALYSIS_TRACE_CHANGE_WORDS_H_
#define PONIENTE_ANALYSIS_TRACE_CHANGE_WORDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "poniente/config.h"
#include "poniente/journal.h"
#include "poniente/plan.h"

namespace poniente::internal {

// Returns the text of the journal, without most of a long list of numbers.
std::string ChangeWords(RunChange change);

// Returns the changes of the run's journal that hold for one of the first
// `samples` samples, each with the step from which on it holds
// (HoldsFromStep()).
absl::StatusOr<std::vector<PlannedRunChange>> ChangesOf(
    const Config& config, uint64_t samples = UINT64_MAX);

}  // namespace poniente::internal

#endif  // PONIENTE_ANALYSIS_TRACE_CHANGE_WORDS_H_
