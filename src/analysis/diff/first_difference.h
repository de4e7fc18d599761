// SPDX-License-Identifier: Apache-2.0
// The first sample in which two runs differ.
//
// Everything that decides the samples before a step (RunState) can be compared
// at once. If it is the same before a step, it is the same before every earlier
// step, so a binary search finds the last such step. From there
// on, samples are compared one by one, for two reasons: a RunState reaches to
// the end of the block, and different parameters may still give the same
// samples.

#ifndef PONIENTE_ANALYSIS_DIFF_FIRST_DIFFERENCE_H_
#define PONIENTE_ANALYSIS_DIFF_FIRST_DIFFERENCE_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "absl/status/statusor.h"
#include "analysis/trace/traced_run.h"

namespace poniente::internal {

struct FirstDifference {
  uint64_t step = 0;
  uint64_t position = 0;
  // What each run reads there; nullopt if its step has no such sample.
  std::optional<SampleOrigin> a;
  std::optional<SampleOrigin> b;
};

struct ComparedSamples {
  // The number of steps that both runs have.
  uint64_t steps = 0;
  // nullopt if no sample of these steps differs.
  std::optional<FirstDifference> first;
};

// Called from time to time during the comparison.
using ComparisonProgress =
    std::function<void(uint64_t samples_done, uint64_t samples_total)>;

// Returns the first difference. Samples are the same if they are the same
// tokens of stores with the same content. If a source is only a number of
// tokens, path and number must be the same. Stores with different content
// differ in every token. ResourceExhausted if `most_samples` were compared one
// by one without a difference, but later samples may differ.
absl::StatusOr<ComparedSamples> FindFirstDifference(
    const TracedRun& a, const TracedRun& b, uint64_t most_samples,
    const ComparisonProgress& progress = nullptr);

}  // namespace poniente::internal

#endif  // PONIENTE_ANALYSIS_DIFF_FIRST_DIFFERENCE_H_
