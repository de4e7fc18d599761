// SPDX-License-Identifier: Apache-2.0
#include "store/posix_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "io/files/descriptors.h"
#include "io/files/open_file.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Most bytes per system call. (Linux transfers at most 2 GiB.)
constexpr size_t kMaxCallBytes = size_t{1} << 30;

std::string_view Remedy(int error) {
  switch (error) {
    case ENOSPC:
      return "; free some space";
    case EDQUOT:
      return "; free some of your quota";
    case EFBIG:
      return "; raise the limit of file sizes (ulimit -f)";
    case EROFS:
    case EACCES:
    case EPERM:
      return "; check its owner and permissions";
    case ESTALE:
      return "; it was replaced since it was opened: open it anew";
    case EMFILE:
      return "; raise the limit of open files (ulimit -n)";
    default:
      return "";
  }
}

absl::Status CheckRegular(const std::string& path, const struct stat& facts) {
  if (S_ISREG(facts.st_mode)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", path, "' is ", Absl(KindOfFile(facts.st_mode)),
                   ", not a regular file; name the file itself"));
}

}  // namespace

OwnedFd::~OwnedFd() {
  if (is_open()) ::close(fd_);
}

absl::Status ErrnoError(const std::string& path, std::string_view what) {
  const int error = errno;
  const absl::StatusCode code = error == EFBIG
                                    ? absl::StatusCode::kResourceExhausted
                                    : absl::ErrnoToStatusCode(error);
  return absl::Status(code,
                      absl::StrCat("'", path, "': ", Absl(what), ": ",
                                   std::strerror(error), Absl(Remedy(error))));
}

FileStamp StampOf(const struct stat& facts) {
  // Unsigned, so that a time that is out of range wraps around, always in the
  // same way.
  const uint64_t nanoseconds =
      static_cast<uint64_t>(facts.st_mtim.tv_sec) * 1'000'000'000 +
      static_cast<uint64_t>(facts.st_mtim.tv_nsec);
  return {static_cast<uint64_t>(facts.st_size),
          static_cast<int64_t>(nanoseconds)};
}

absl::StatusOr<FileStamp> ReadStamp(const std::string& path) {
  struct stat facts;
  if (::stat(path.c_str(), &facts) != 0) return ErrnoError(path, "open");
  PONIENTE_RETURN_IF_ERROR(CheckRegular(path, facts));
  return StampOf(facts);
}

absl::StatusOr<OwnedFd> OpenFd(const std::string& path, int flags) {
  const auto open_once = [&] {
    // O_NONBLOCK does not wait for the other end of a pipe. It has no effect on
    // regular files.
    const int fd = ::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, 0666);
    return fd >= 0 ? fd : -errno;
  };
  int fd = -EINTR;
  while (fd == -EINTR) fd = CallForDescriptor(open_once);
  if (fd >= 0) return OwnedFd(fd);
  errno = -fd;
  return ErrnoError(path, "open");
}

absl::Status WriteAll(int fd, const std::string& path, uint64_t offset,
                      std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written =
        ::pwrite(fd, bytes.data(), std::min(bytes.size(), kMaxCallBytes),
                 static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      return ErrnoError(path, absl::StrCat("write at byte ", offset));
    }
    offset += static_cast<uint64_t>(written);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status EndsEarly(const std::string& path, uint64_t at, uint64_t missing) {
  return absl::DataLossError(absl::StrCat(
      "'", path, "' ends at byte ", at, ", ", missing,
      " bytes before what was expected: it was cut short while it was "
      "read; restore it from a copy or pack it again"));
}

absl::Status ReadAll(int fd, const std::string& path, uint64_t offset,
                     std::span<std::byte> into) {
  while (!into.empty()) {
    const ssize_t got =
        ::pread(fd, into.data(), std::min(into.size(), kMaxCallBytes),
                static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoError(path, absl::StrCat("read at byte ", offset));
    if (got == 0) return EndsEarly(path, offset, into.size());
    offset += static_cast<uint64_t>(got);
    into = into.subspan(static_cast<size_t>(got));
  }
  return absl::OkStatus();
}

absl::Status ReadAll(const OpenFile& file, uint64_t offset,
                     std::span<std::byte> into) {
  const FileDescriptor fd(file);
  if (fd.get() >= 0) return ReadAll(fd.get(), file.path(), offset, into);
  errno = -fd.get();
  return ErrnoError(file.path(), "open again");
}

absl::StatusOr<OwnedFd> OpenRegularFile(const std::string& path,
                                        struct stat* facts) {
  PONIENTE_ASSIGN_OR_RETURN(OwnedFd fd, OpenFd(path, O_RDONLY));
  if (::fstat(fd.get(), facts) != 0) return ErrnoError(path, "stat");
  PONIENTE_RETURN_IF_ERROR(CheckRegular(path, *facts));
  return fd;
}

absl::StatusOr<std::string> ReadSmallFile(const std::string& path,
                                          std::string_view what,
                                          uint64_t most_bytes,
                                          FileStamp* stamp) {
  struct stat facts;
  PONIENTE_ASSIGN_OR_RETURN(const OwnedFd fd, OpenRegularFile(path, &facts));
  const FileStamp found = StampOf(facts);
  if (found.bytes > most_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", path, "' has ", found.bytes, " bytes, ", Absl(what),
                     " has at most ", most_bytes));
  }
  if (stamp != nullptr) *stamp = found;
  std::string text(static_cast<size_t>(found.bytes), '\0');
  PONIENTE_RETURN_IF_ERROR(
      ReadAll(fd.get(), path, 0, std::as_writable_bytes(std::span(text))));
  if (!text.empty()) return text;
  // Files of the kernel (such as in /proc) report a size of 0 bytes.
  char more[4096];
  while (true) {
    const ssize_t got =
        ::pread(fd.get(), more, sizeof(more), static_cast<off_t>(text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoError(path, "read");
    if (got == 0) return text;
    text.append(more, static_cast<size_t>(got));
    if (text.size() > most_bytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", path, "' has more than ", most_bytes, " bytes, ",
                       Absl(what), " has at most that many"));
    }
  }
}

absl::Status CutFile(int fd, const std::string& path, uint64_t bytes) {
  while (::ftruncate(fd, static_cast<off_t>(bytes)) != 0) {
    if (errno != EINTR) return ErrnoError(path, "truncate");
  }
  return absl::OkStatus();
}

absl::Status SyncFd(int fd, const std::string& path) {
  if (::fsync(fd) == 0) return absl::OkStatus();
  return ErrnoError(path, "fsync");
}

absl::Status SyncFolder(const std::string& path) {
  PONIENTE_ASSIGN_OR_RETURN(const OwnedFd fd,
                            OpenFd(path, O_RDONLY | O_DIRECTORY));
  // EINVAL: the file system cannot fsync folders and does not need it.
  if (::fsync(fd.get()) == 0 || errno == EINVAL) return absl::OkStatus();
  return ErrnoError(path, "fsync");
}

std::string ParentOf(const std::string& path) {
  size_t end = path.find_last_not_of('/');
  if (end == std::string::npos) return path.empty() ? "." : "/";
  end = path.find_last_of('/', end);
  if (end == std::string::npos) return ".";
  end = path.find_last_not_of('/', end);
  return end == std::string::npos ? "/" : path.substr(0, end + 1);
}

absl::StatusOr<bool> MakeFolders(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) == 0) {
    PONIENTE_RETURN_IF_ERROR(SyncFolder(ParentOf(path)));
    return true;
  }
  if (errno == ENOENT && ParentOf(path) != path) {
    PONIENTE_ASSIGN_OR_RETURN(bool made, MakeFolders(ParentOf(path)));
    if (::mkdir(path.c_str(), 0777) == 0) {
      PONIENTE_RETURN_IF_ERROR(SyncFolder(ParentOf(path)));
      return true;
    }
    (void)made;
  }
  if (errno != EEXIST) return ErrnoError(path, "make folder");
  struct stat facts;
  if (::stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode)) return false;
  return absl::FailedPreconditionError(absl::StrCat(
      "'", path, "' is a file; a token store is a folder: name another path"));
}

}  // namespace poniente::internal
