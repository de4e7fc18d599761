// SPDX-License-Identifier: Apache-2.0
#include "io/files/open_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "io/files/descriptors.h"
#include "io/files/fault_hooks.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

std::string_view OpenRemedy(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return "; check the path";
    case EACCES:
    case EPERM:
      return "; check the permissions of the file and its folders";
    case EMFILE:
      return "; raise the limit of open files (ulimit -Hn)";
    case ENFILE:
      return "; raise the system's limit of open files (fs.file-max)";
    default:
      return "; check the file system it lies on (dmesg), and try again";
  }
}

absl::Status OpenError(const std::string& path, std::string_view what,
                       int error) {
  return absl::Status(error == EIO ? absl::StatusCode::kDataLoss
                                   : absl::ErrnoToStatusCode(error),
                      absl::StrCat(path, ": cannot ", Absl(what), ": ",
                                   std::generic_category().message(error),
                                   Absl(OpenRemedy(error))));
}

// Returns a descriptor, or -errno.
int OpenFd(const std::string& path) {
  if (const int fault = FaultAt(SystemCall::kOpen); fault != 0) return -fault;
  // O_NONBLOCK, so that opening a pipe without a writer does not block.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  return fd >= 0 ? fd : -errno;
}

// Returns whether enough descriptors above `fd` are left for other uses: files
// that are opened for a short time, rings, and the rest of the program. A new
// descriptor always gets the lowest free number, so `fd` tells how many are
// taken.
bool LeavesEnough(int fd) {
  constexpr rlim_t kForOthers = 192;
  rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return true;
  // The soft limit is raised when it is reached.
  const rlim_t others = std::max(limit.rlim_max / 4,
                                 std::min(kForOthers, limit.rlim_max / 4 * 3));
  return static_cast<rlim_t>(fd) < limit.rlim_max - others;
}

// Returns 0, or the errno of fstat.
int ReadFacts(int fd, struct stat* info) {
  if (const int fault = FaultAt(SystemCall::kFstat); fault != 0) return fault;
  return ::fstat(fd, info) == 0 ? 0 : errno;
}

// Returns 0, or the errno of fcntl.
int SetBlocking(int fd) {
  if (const int fault = FaultAt(SystemCall::kFcntl); fault != 0) return fault;
  return ::fcntl(fd, F_SETFL, 0) == 0 ? 0 : errno;
}

uint64_t Nanoseconds(const timespec& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<uint64_t>(time.tv_nsec);
}

FileIdentity IdentityOf(const struct stat& info) {
  return {{static_cast<uint64_t>(info.st_dev),
           static_cast<uint64_t>(info.st_ino),
           static_cast<uint64_t>(info.st_size), Nanoseconds(info.st_mtim),
           Nanoseconds(info.st_ctim)}};
}

// Returns when the file at the path (or `fd`, if the path is empty) was
// created, in ns; 0 if the system does not tell.
uint64_t CreationOf(int fd, const char* path) {
  struct statx info;
  if (::statx(fd, path, AT_EMPTY_PATH, STATX_BTIME, &info) != 0) return 0;
  if ((info.stx_mask & STATX_BTIME) == 0) return 0;
  return Nanoseconds({.tv_sec = info.stx_btime.tv_sec,
                      .tv_nsec = static_cast<int64_t>(info.stx_btime.tv_nsec)});
}

}  // namespace

std::string_view KindOfFile(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

absl::StatusOr<OpenFile> OpenFile::Open(std::string path, KeepDescriptor keep) {
  const int fd = CallForDescriptor([&path] { return OpenFd(path); });
  if (fd < 0) return OpenError(path, "open", -fd);
  OpenFile file(std::move(path), fd);
  struct stat info;
  if (const int error = ReadFacts(fd, &info); error != 0) {
    return OpenError(file.path_, "stat", error);
  }
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.path_, ": is ", Absl(KindOfFile(info.st_mode)),
                     ", not a regular file; name the file itself"));
  }
  // With O_NONBLOCK still set, io_uring reads fail with EAGAIN on file systems
  // without nowait reads.
  if (const int error = SetBlocking(fd); error != 0) {
    return OpenError(file.path_, "set to blocking", error);
  }
  file.identity_ = IdentityOf(info);
  // Only advice: reads work without it.
  (void)::posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
  if (keep == KeepDescriptor::kIfEnough && !LeavesEnough(fd)) {
    PONIENTE_RETURN_IF_ERROR(file.GiveUpDescriptor());
  }
  return file;
}

absl::Status OpenFile::GiveUpDescriptor() {
  std::error_code error;
  path_again_ = std::filesystem::absolute(path_, error);
  if (error) return OpenError(path_, "find the folder of", error.value());
  created_ = CreationOf(file_.fd(), "");
  file_.Close();
  return absl::OkStatus();
}

absl::StatusOr<OpenFile> OpenFile::OpenExpected(std::string path,
                                                const ExpectedFile& expected,
                                                KeepDescriptor keep) {
  if (expected.check != nullptr) PONIENTE_RETURN_IF_ERROR(expected.check());
  PONIENTE_ASSIGN_OR_RETURN(OpenFile file, Open(std::move(path), keep));
  if (file.size() == expected.bytes) return file;
  return absl::FailedPreconditionError(absl::StrCat(
      file.path(), ": has ", file.size(), " bytes, ", expected.bytes,
      " were expected; was it written since? open it anew"));
}

bool OpenFile::Reaches(uint64_t end) const {
  const auto last = static_cast<off_t>(end - 1);
  const FileDescriptor fd(*this);
  // Two calls, so that one of them waits for the lock that a truncation holds:
  // lseek() on ext4, pread() on XFS.
  (void)::lseek(fd.get(), last, SEEK_DATA);
  char byte;
  return ::pread(fd.get(), &byte, 1, last) != 0;
}

std::optional<FileIdentity> OpenFile::IdentityNow() const {
  struct stat info;
  if (has_descriptor()) {
    if (ReadFacts(file_.fd(), &info) != 0) return std::nullopt;
    return IdentityOf(info);
  }
  if (::stat(path_again_.c_str(), &info) != 0) return std::nullopt;
  const FileIdentity now = IdentityOf(info);
  if (!now.IsFileOf(identity_) ||
      CreationOf(AT_FDCWD, path_again_.c_str()) != created_) {
    return std::nullopt;
  }
  return now;
}

uint64_t OpenFile::SizeNow() const {
  if (!has_descriptor()) {
    const std::optional<FileIdentity> now = IdentityNow();
    return now.has_value() ? now->bytes() : size();
  }
  // The descriptor's position is not used otherwise. fstat takes twice as long.
  const off_t end = ::lseek(file_.fd(), 0, SEEK_END);
  return end < 0 ? size() : static_cast<uint64_t>(end);
}

FileDescriptor::FileDescriptor(const OpenFile& file)
    : owned_(!file.has_descriptor()), fd_(file.file_.fd()) {
  if (!owned_) return;
  fd_ = CallForDescriptor([&file] { return OpenFd(file.path_again_); });
  if (fd_ < 0) return;
  struct stat info;
  int error = ReadFacts(fd_, &info);
  if (error == 0 && (!IdentityOf(info).IsFileOf(file.identity_) ||
                     CreationOf(fd_, "") != file.created_)) {
    error = ESTALE;
  }
  if (error == 0) return;
  ::close(fd_);
  fd_ = -error;
}

FileDescriptor::~FileDescriptor() {
  if (owned_ && fd_ >= 0) ::close(fd_);
}

}  // namespace poniente::internal
