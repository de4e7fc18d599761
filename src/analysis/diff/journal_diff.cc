// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "analysis/diff/run_diff.h"
#include "analysis/trace/change_words.h"

namespace poniente::internal {
namespace {

// Behind so many, only their number is told.
constexpr size_t kMaxChanges = 20;

DiffValue Words(const Journal& journal, size_t i) {
  if (i >= journal.size()) return {};
  const JournalEntry entry = journal.entry(i);
  return absl::StrCat("sample ", entry.sample, ": ", ChangeWords(entry.change));
}

bool IsSame(const Journal& a, const Journal& b, size_t i) {
  if (i >= std::min(a.size(), b.size())) return false;
  // When it was decided changes no token.
  return a.sample(i) == b.sample(i) && a.entry(i).change == b.entry(i).change;
}

// Whether they differ in the reason alone, which changes no token.
bool HasOtherReason(const Journal& a, const Journal& b, size_t i) {
  if (i >= std::min(a.size(), b.size()) || a.sample(i) != b.sample(i)) {
    return false;
  }
  JournalEntry one = a.entry(i);
  one.change.why = b.entry(i).change.why;
  return one.change == b.entry(i).change;
}

}  // namespace

void AppendJournalDifferences(const TracedRun& a, const TracedRun& b,
                              const ComparedSamples& compared,
                              std::vector<RunDifference>* differences) {
  const Journal& in_a = a.journal();
  const Journal& in_b = b.journal();
  size_t found = 0;
  for (size_t i = 0; i < std::max(in_a.size(), in_b.size()); ++i) {
    if (IsSame(in_a, in_b, i)) continue;
    if (++found > kMaxChanges) continue;
    uint64_t sample = UINT64_MAX;
    if (i < in_a.size()) sample = in_a.sample(i);
    if (i < in_b.size()) sample = std::min(sample, in_b.sample(i));
    RunDifference& difference = differences->emplace_back();
    difference.what = absl::StrCat("change ", i + 1);
    difference.a = Words(in_a, i);
    difference.b = Words(in_b, i);
    difference.decides_tokens = !HasOtherReason(in_a, in_b, i);
    const Schedule& schedule = a.schedule();
    if (schedule.steps() > 0 && sample >= schedule.samples()) continue;
    const uint64_t step = schedule.StepOf(sample);
    if (step < compared.steps) difference.from_step = step;
  }
  if (found <= kMaxChanges) return;
  RunDifference& more = differences->emplace_back();
  more.what = absl::StrCat(found - kMaxChanges, " further changes");
  more.decides_tokens = true;
}

}  // namespace poniente::internal
