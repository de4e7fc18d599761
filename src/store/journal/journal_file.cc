// SPDX-License-Identifier: Apache-2.0
#include "store/journal/journal_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "store/posix_file.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// A million changes of 64 weights take about 1.6 GB.
constexpr uint64_t kMaxJournalBytes = uint64_t{1} << 32;
// Compared before a line is added: the end of the last line, with its checksum,
// which is that of all lines before.
constexpr size_t kTail = 64;

absl::Status ChangedBy(const std::string& path, std::string_view what) {
  return absl::FailedPreconditionError(absl::StrCat(
      "'", path, "' ", Absl(what),
      " since this process read it: another process steers the same run, or "
      "the file was replaced; let only one process (rank 0) write it, and "
      "start "
      "again from the last checkpoint"));
}

std::string TailOf(std::string_view bytes) {
  return std::string(
      bytes.substr(bytes.size() - std::min(bytes.size(), kTail)));
}

}  // namespace

absl::StatusOr<Journal> ReadJournal(const std::string& path) {
  const absl::StatusOr<std::string> bytes =
      ReadSmallFile(path, "a journal", kMaxJournalBytes);
  if (absl::IsNotFound(bytes.status())) return Journal();
  if (!bytes.ok()) return bytes.status();
  return Journal::Parse(*bytes, path);
}

JournalFile::JournalFile(std::string path, const Journal& journal)
    : path_(std::move(path)),
      size_(journal.bytes().size()),
      tail_(TailOf(journal.bytes())) {}

absl::Status JournalFile::Append(std::string_view line) {
  PONIENTE_ASSIGN_OR_RETURN(const OwnedFd fd,
                            OpenFd(path_, O_RDWR | O_CREAT | O_CLOEXEC));
  int locked = -1;
  do {
    locked = ::flock(fd.get(), LOCK_EX);
  } while (locked != 0 && errno == EINTR);
  if (locked != 0) return ErrnoError(path_, "lock");
  struct stat facts = {};
  if (::fstat(fd.get(), &facts) != 0) return ErrnoError(path_, "stat");
  const auto size = static_cast<uint64_t>(facts.st_size);
  if (size < size_) return ChangedBy(path_, "has become shorter");
  if (size - size_ > kMaxJournalBytes) return ChangedBy(path_, "has grown");
  std::string end(size - size_ + tail_.size(), '\0');
  PONIENTE_RETURN_IF_ERROR(ReadAll(fd.get(), path_, size_ - tail_.size(),
                                   std::as_writable_bytes(std::span(end))));
  if (!end.starts_with(tail_)) return ChangedBy(path_, "has changed");
  const std::string_view more = std::string_view(end).substr(tail_.size());
  // The first line alone is that of an empty journal.
  const bool is_new = size_ == 0;
  if (more.find('\n') != std::string_view::npos &&
      !(is_new && more == Journal::Head())) {
    return ChangedBy(path_, "has grown");
  }
  if (!more.empty()) {
    PONIENTE_RETURN_IF_ERROR(CutFile(fd.get(), path_, size_));
  }
  std::string added(is_new ? Journal::Head() : std::string_view());
  added += line;
  absl::Status written =
      WriteAll(fd.get(), path_, size_, std::as_bytes(std::span(added)));
  if (written.ok()) written = SyncFd(fd.get(), path_);
  if (written.ok() && is_new) written = SyncFolder(ParentOf(path_));
  if (!written.ok()) {
    // The change does not hold, so its line must not be found again.
    CutFile(fd.get(), path_, size_).IgnoreError();
    return written;
  }
  size_ += added.size();
  tail_ = TailOf(tail_ + added);
  return absl::OkStatus();
}

}  // namespace poniente::internal
