// SPDX-License-Identifier: Apache-2.0
// The first sample in which two runs differ.
//
// What decided the samples before a step (RunState) can be compared at once,
// and if it is the same before a step, it is so before every earlier one: so
// the last such step is searched for by halves. From there on samples are
// compared one by one, because what is compared at once reaches to the end of
// blocks, and because other parameters may still give the same samples.

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
  // What is read there; nullopt if the step has no such sample.
  std::optional<SampleOrigin> a;
  std::optional<SampleOrigin> b;
};

struct ComparedSamples {
  // Those that both runs have.
  uint64_t steps = 0;
  // Nullopt if no sample of these steps differs.
  std::optional<FirstDifference> first;
};

// Called now and then.
using ComparisonProgress =
    std::function<void(uint64_t samples_done, uint64_t samples_total)>;

// Samples are the same if they are the same tokens of stores of the same
// content, or, where there are only numbers of tokens, of sources of the same
// path and number. Stores of other content differ in every token.
// ResourceExhausted if `most_samples` have been compared one by one without a
// difference, but what follows may have one.
absl::StatusOr<ComparedSamples> FindFirstDifference(
    const TracedRun& a, const TracedRun& b, uint64_t most_samples,
    const ComparisonProgress& progress = nullptr);

}  // namespace poniente::internal

#endif  // PONIENTE_ANALYSIS_DIFF_FIRST_DIFFERENCE_H_
