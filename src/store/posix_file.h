// SPDX-License-Identifier: Apache-2.0
// The system calls a store needs, as functions that give a Status.

#ifndef PONIENTE_STORE_POSIX_FILE_H_
#define PONIENTE_STORE_POSIX_FILE_H_

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace poniente::internal {

// Closes its descriptor.
class OwnedFd {
 public:
  OwnedFd() = default;
  explicit OwnedFd(int fd) : fd_(fd) {}
  OwnedFd(OwnedFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OwnedFd& operator=(OwnedFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~OwnedFd();

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// What tells a file that was written to since from one that was not.
struct FileStamp {
  uint64_t bytes = 0;
  int64_t mtime_ns = 0;  // since 1970

  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};
FileStamp StampOf(const struct stat& facts);
// NotFound if there is no such file; InvalidArgument if it is no regular one.
absl::StatusOr<FileStamp> ReadStamp(const std::string& path);

// "'path': what: reason; remedy" for errno, with its code. Call it before
// anything else can change errno.
absl::Status ErrnoError(const std::string& path, std::string_view what);

// Where the soft limit of descriptors ends, raises it to the hard one.
absl::StatusOr<OwnedFd> OpenFd(const std::string& path, int flags);

// For reading. InvalidArgument if it is no regular file; a pipe without a
// writer does not hold this up.
absl::StatusOr<OwnedFd> OpenRegularFile(const std::string& path,
                                        struct stat* facts);

// All of a regular file of at most `most_bytes` bytes; InvalidArgument, naming
// `what` was expected, if it is none.
absl::StatusOr<std::string> ReadSmallFile(const std::string& path,
                                          std::string_view what,
                                          uint64_t most_bytes,
                                          FileStamp* stamp = nullptr);

// Writes all of `bytes` at `offset`.
absl::Status WriteAll(int fd, const std::string& path, uint64_t offset,
                      std::span<const std::byte> bytes);

// DataLoss: the file ends at byte `at`, `missing` bytes before what was
// expected.
absl::Status EndsEarly(const std::string& path, uint64_t at, uint64_t missing);

// Fills `into` from `offset`; DataLoss if the file ends before.
absl::Status ReadAll(int fd, const std::string& path, uint64_t offset,
                     std::span<std::byte> into);

// Makes the file `bytes` bytes long.
absl::Status CutFile(int fd, const std::string& path, uint64_t bytes);

absl::Status SyncFd(int fd, const std::string& path);
// Makes the names in a folder durable.
absl::Status SyncFolder(const std::string& path);

// The folder that `path` lies in.
std::string ParentOf(const std::string& path);

// Makes `path` and the missing folders above it, durably. True if `path` was
// not there.
absl::StatusOr<bool> MakeFolders(const std::string& path);

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_POSIX_FILE_H_
