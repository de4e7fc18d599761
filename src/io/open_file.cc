// SPDX-License-Identifier: Apache-2.0
#include "io/open_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

std::string_view Remedy(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return "; check the path";
    case EACCES:
    case EPERM:
      return "; check the permissions of the file and its folders";
    case EMFILE:
      return "; raise the limit of open files (ulimit -n)";
    case ENFILE:
      return "; raise the system's limit of open files (fs.file-max)";
    default:
      return "";
  }
}

absl::Status OpenError(const std::string& path, std::string_view what,
                       int error) {
  return absl::Status(absl::ErrnoToStatusCode(error),
                      absl::StrCat(path, ": cannot ", Absl(what), ": ",
                                   std::generic_category().message(error),
                                   Absl(Remedy(error))));
}

std::string_view KindOf(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

}  // namespace

absl::StatusOr<OpenFile> OpenFile::Open(std::string path) {
  // O_NONBLOCK, so that a pipe without a writer does not hold us up.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return OpenError(path, "open", errno);
  OpenFile file(std::move(path), fd);
  struct stat info;
  if (::fstat(fd, &info) != 0) return OpenError(file.path_, "stat", errno);
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.path_, ": is ", Absl(KindOf(info.st_mode)),
                     ", not a regular file; name the file itself"));
  }
  // Left on, io_uring answers EAGAIN on file systems that know no nowait reads.
  if (::fcntl(fd, F_SETFL, 0) != 0) {
    return OpenError(file.path_, "set to blocking", errno);
  }
  file.size_ = static_cast<uint64_t>(info.st_size);
  // Advice only: a file system without it reads as well.
  (void)::posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
  return file;
}

OpenFile::OpenFile(OpenFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      size_(other.size_) {}

OpenFile::~OpenFile() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace poniente::internal
