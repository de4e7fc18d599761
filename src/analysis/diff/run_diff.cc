// SPDX-License-Identifier: Apache-2.0
#include "analysis/diff/run_diff.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "util/status_macros.h"

namespace poniente {
namespace {

DiffValue Words(const std::optional<SampleOrigin>& origin) {
  if (!origin) return {};
  return absl::StrCat(origin->path, " item ", origin->item, " epoch ",
                      origin->epoch, " tokens ", origin->token_begin, "..",
                      origin->token_end);
}

}  // namespace

absl::StatusOr<RunDiff> DiffRuns(const TracedRun& a, const TracedRun& b,
                                 uint64_t most_samples,
                                 const ComparisonProgress& progress) {
  RunDiff diff;
  PONIENTE_ASSIGN_OR_RETURN(diff.compared,
                            FindFirstDifference(a, b, most_samples, progress));
  internal::AppendTreeDifferences(a, b, diff.compared, &diff.differences);
  internal::AppendScheduleDifferences(a, b, diff.compared, &diff.differences);
  internal::AppendJournalDifferences(a, b, diff.compared, &diff.differences);
  internal::AppendLoaderDifferences(a.options(), b.options(),
                                    &diff.differences);
  internal::AppendEvalDifferences(a.run().evals, b.run().evals,
                                  &diff.differences);
  internal::AppendIoDifferences(a.io_options(), b.io_options(),
                                &diff.differences);
  std::stable_partition(
      diff.differences.begin(), diff.differences.end(),
      [](const RunDifference& one) { return one.decides_tokens; });
  const std::optional<FirstDifference>& first = diff.compared.first;
  const bool is_explained =
      first && std::any_of(diff.differences.begin(), diff.differences.end(),
                           [&](const RunDifference& one) {
                             return one.decides_tokens && one.from_step &&
                                    *one.from_step <= first->step;
                           });
  if (first && !is_explained) {
    diff.differences.insert(
        diff.differences.begin(),
        {"order", Words(first->a), Words(first->b), first->step, true});
  }
  return diff;
}

}  // namespace poniente
