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

// Nothing where a run has none.
using DiffValue = std::variant<std::monostate, uint64_t, double, std::string>;

struct RunDifference {
  std::string what;  // "weight of 'prose/words'"
  DiffValue a;
  DiffValue b;
  // From here on it may matter; nullopt if in no step that both runs have.
  std::optional<uint64_t> from_step;
  // Of the kind that decides tokens: not a label, not how they are read.
  bool decides_tokens = false;
};

struct RunDiff {
  ComparedSamples compared;
  // Those that decide tokens come first.
  std::vector<RunDifference> differences;
};

// Errors as FindFirstDifference(), which says what `most_samples` is.
absl::StatusOr<RunDiff> DiffRuns(const TracedRun& a, const TracedRun& b,
                                 uint64_t most_samples,
                                 const ComparisonProgress& progress = nullptr);

// Parts of DiffRuns(). Append what differs in the trees of datasets; in the
// schedules; in how batches are made; in how stores are read.
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
