// SPDX-License-Identifier: Apache-2.0
#include "store/packing/replaced_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace poniente::internal {
namespace {

// Returns whether `path` names the open file.
bool IsNamed(int fd, const std::string& path) {
  struct stat open_file = {};
  struct stat named = {};
  return ::fstat(fd, &open_file) == 0 && ::stat(path.c_str(), &named) == 0 &&
         open_file.st_dev == named.st_dev && open_file.st_ino == named.st_ino;
}

}  // namespace

absl::StatusOr<ReplacedFile> ReplacedFile::Lock(const std::string& path) {
  std::string temporary = absl::StrCat(path, ".tmp");
  while (true) {
    PONIENTE_ASSIGN_OR_RETURN(OwnedFd fd, OpenFd(temporary, O_RDWR | O_CREAT));
    int locked = -1;
    do {
      locked = ::flock(fd.get(), LOCK_EX);
    } while (locked != 0 && errno == EINTR);
    if (locked != 0) return ErrnoError(temporary, "lock");
    // The process that held the lock may have given the file its name.
    if (IsNamed(fd.get(), temporary)) {
      return ReplacedFile(path, std::move(temporary), std::move(fd));
    }
  }
}

ReplacedFile::~ReplacedFile() {
  if (fd_.is_open() && !temporary_.empty()) ::unlink(temporary_.c_str());
}

absl::Status ReplacedFile::Write(const Content& content) {
  PONIENTE_RETURN_IF_ERROR(CutFile(fd_.get(), temporary_, 0));
  PONIENTE_RETURN_IF_ERROR(content(fd_.get(), temporary_));
  PONIENTE_RETURN_IF_ERROR(SyncFd(fd_.get(), temporary_));
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return ErrnoError(path_, "rename");
  }
  temporary_.clear();
  return SyncFolder(ParentOf(path_));
}

absl::Status DamagedFile(const std::string& path, std::string_view what) {
  return absl::DataLossError(
      absl::StrCat("'", path, "' ", Absl(what),
                   "; delete it: it is made again from the documents"));
}

}  // namespace poniente::internal
