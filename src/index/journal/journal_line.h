// SPDX-License-Identifier: Apache-2.0
// The text of a journal's entry (docs/journal.md), without its checksum.

#ifndef PONIENTE_INDEX_JOURNAL_JOURNAL_LINE_H_
#define PONIENTE_INDEX_JOURNAL_JOURNAL_LINE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/journal.h"

namespace poniente::internal {

// Returns InvalidArgument unless the change says something that a journal can
// hold.
absl::Status CheckChange(const RunChange& change);

// Prints a change: its kind, what changes, and why. REQUIRES: CheckChange() is
// ok.
std::string PrintChange(const RunChange& change);

// Prints an entry. REQUIRES: CheckChange() is ok.
std::string PrintEntry(const JournalEntry& entry);
std::string PrintEntry(uint64_t number, uint64_t sample, uint64_t step,
                       const RunChange& change);

// Parses a text of PrintEntry(). InvalidArgument, naming what was expected, for
// any other text: equal entries have one text only.
absl::StatusOr<JournalEntry> ParseEntry(std::string_view text);

// Returns the kind of the entry that the line of a journal has. REQUIRES: it
// begins with a text of PrintEntry().
RunChange::Kind KindOfLine(std::string_view line);

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_JOURNAL_JOURNAL_LINE_H_
