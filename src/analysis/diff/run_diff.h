// SPDX-License-Identifier: Apache-2.0
// What differs between two configured runs, and from which step on.

#ifndef PONIENTE_ANALYSIS_DIFF_RUN_DIFF_H_
#define PONIENTE_ANALYSIS_DIFF_RUN_DIFF_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/diff/first_difference.h"
#include "analysis/trace/traced_run.h"

namespace poniente::internal {

// monostate if a run has no such value.
using DiffValue = std::variant<std::monostate, uint64_t, double, std::string>;

struct RunDifference {
  std::string what;  // "weight of 'prose/words'"
  DiffValue a;
  DiffValue b;
  // The first step in which it may matter; nullopt if that is in no step that
  // both runs have.
  std::optional<uint64_t> from_step;
  // Whether it can change tokens: false for labels, and for the way tokens are
  // read.
  bool decides_tokens = false;
  // For weights on ramps: the lengths of the ramps at whose ends the values
  // hold. Empty where there is no ramp.
  std::string ramp_a = {};
  std::string ramp_b = {};
};

struct RunDiff {
  ComparedSamples compared;
  // Differences that decide tokens come first.
  std::vector<RunDifference> differences;
};

// Compares two runs. `most_samples` and errors as in FindFirstDifference().
absl::StatusOr<RunDiff> DiffRuns(const TracedRun& a, const TracedRun& b,
                                 uint64_t most_samples,
                                 const ComparisonProgress& progress = nullptr);

// The parts of DiffRuns(). They append what differs in the trees of datasets,
// in the schedules, in how batches are made, and in how stores are read.
void AppendTreeDifferences(const TracedRun& a, const TracedRun& b,
                           const ComparedSamples& compared,
                           std::vector<RunDifference>* differences);
void AppendScheduleDifferences(const TracedRun& a, const TracedRun& b,
                               const ComparedSamples& compared,
                               std::vector<RunDifference>* differences);
void AppendLoaderDifferences(const LoaderOptions& a, const LoaderOptions& b,
                             std::vector<RunDifference>* differences);
void AppendIoDifferences(const ByteReaderOptions& a, const ByteReaderOptions& b,
                         std::vector<RunDifference>* differences);

}  // namespace poniente::internal

#endif  // PONIENTE_ANALYSIS_DIFF_RUN_DIFF_H_
