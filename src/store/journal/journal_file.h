// SPDX-License-Identifier: Apache-2.0
// The file of a run's journal (docs/journal.md).

#ifndef PONIENTE_STORE_JOURNAL_JOURNAL_FILE_H_
#define PONIENTE_STORE_JOURNAL_JOURNAL_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/journal.h"

namespace poniente::internal {

// Reads the journal; an empty one if there is no such file yet. Errors of
// Journal::Parse(), and of the file.
absl::StatusOr<Journal> ReadJournal(const std::string& path);

// Appends lines to a journal that this process has read.
//
// Thread safety: one call at a time. Several processes may try: who appends
//     holds flock on the file, and finds out if another was faster.
class JournalFile {
 public:
  // `journal` is what the file holds.
  JournalFile(std::string path, const Journal& journal);

  // Appends the next line of the journal, and returns when the disk has it.
  // Makes the file if there is none, and cuts off what a process that was
  // killed has left of its last line. FailedPrecondition if the file does not
  // end with the last line that this process has read or written.
  absl::Status Append(std::string_view line);

 private:
  const std::string path_;
  uint64_t size_;
  // The last bytes, with the checksum of the last line and so of all lines.
  std::string tail_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_JOURNAL_JOURNAL_FILE_H_
