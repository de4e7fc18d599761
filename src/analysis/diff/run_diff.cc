// SPDX-License-Identifier: Apache-2.0
#include "analysis/diff/run_diff.h"

#include <algorithm>
#include <utility>
#include <vector>

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

bool ReadsTheSame(const RunDifference& one) {
  return one.a == one.b && one.ramp_a == one.ramp_b;
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
  // Runs may differ in what no value here shows, such as the shuffle that
  // follows from another number of items.
  std::erase_if(diff.differences, ReadsTheSame);
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
    RunDifference order = {"order", Words(first->a), Words(first->b),
                           first->step, true};
    if (!ReadsTheSame(order)) {
      diff.differences.insert(diff.differences.begin(), std::move(order));
    }
  }
  return diff;
}

}  // namespace poniente
