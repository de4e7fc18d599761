// SPDX-License-Identifier: Apache-2.0
#include "analysis/trace/change_words.h"

#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "dataset/steering/change_places.h"
#include "util/status_macros.h"

namespace poniente::internal {

std::string ChangeWords(RunChange change) {
  constexpr size_t kMaxRanges = 8;
  const size_t ranges = change.dropped.size();
  if (ranges <= kMaxRanges) return ToText(change).value();
  uint64_t numbers = 0;
  for (const NumberRange& range : change.dropped) {
    numbers += range.end - range.begin;
  }
  change.dropped.resize(kMaxRanges);
  const std::string text = ToText(change).value();
  change.why.clear();
  const size_t ranges_end = ToText(change).value().size();
  return absl::StrCat(text.substr(0, ranges_end), " ... (", numbers, " in all)",
                      text.substr(ranges_end));
}

absl::StatusOr<std::vector<PlannedRunChange>> ChangesOf(const Config& config,
                                                        uint64_t samples) {
  std::vector<PlannedRunChange> changes;
  for (const JournalEntry& entry : config.journal().entries()) {
    if (entry.sample >= samples) break;
    PONIENTE_ASSIGN_OR_RETURN(
        const uint64_t step,
        HoldsFromStep(*config.dataset(), config.schedule(), entry));
    changes.push_back({entry.number, step, ChangeWords(entry.change)});
  }
  return changes;
}

}  // namespace poniente::internal
