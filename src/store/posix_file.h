// SPDX-License-Identifier: Apache-2.0
// The system calls that a store needs, as functions that return a Status.

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
#include "io/files/open_file.h"

namespace poniente::internal {

// Owns a descriptor, which it closes.
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

// The size and modification time of a file, which show whether it was written
// to.
struct FileStamp {
  uint64_t bytes = 0;
  int64_t mtime_ns = 0;  // since 1970

  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};
FileStamp StampOf(const struct stat& facts);
// Reads the stamp of a file. NotFound if there is no such file; InvalidArgument
// if it is not a regular file.
absl::StatusOr<FileStamp> ReadStamp(const std::string& path);

// Returns the error "'path': what: reason; remedy" for errno. Call it before
// other code can change errno.
absl::Status ErrnoError(const std::string& path, std::string_view what);

// Opens a descriptor. If the soft limit on descriptors is reached, raises it to
// the hard limit.
absl::StatusOr<OwnedFd> OpenFd(const std::string& path, int flags);

// Opens a file for reading. InvalidArgument if it is not a regular file. Does
// not block on a pipe without a writer.
absl::StatusOr<OwnedFd> OpenRegularFile(const std::string& path,
                                        struct stat* facts);

// Reads a regular file of at most `most_bytes` bytes. InvalidArgument, with
// `what` as the name of the expected file, for any other file.
absl::StatusOr<std::string> ReadSmallFile(const std::string& path,
                                          std::string_view what,
                                          uint64_t most_bytes,
                                          FileStamp* stamp = nullptr);

// Writes all of `bytes` at byte `offset`.
absl::Status WriteAll(int fd, const std::string& path, uint64_t offset,
                      std::span<const std::byte> bytes);

// Returns the DataLoss error that the file ends at byte `at`, `missing` bytes
// before the expected end.
absl::Status EndsEarly(const std::string& path, uint64_t at, uint64_t missing);

// Fills `into` from byte `offset` on. DataLoss if the file ends earlier.
absl::Status ReadAll(int fd, const std::string& path, uint64_t offset,
                     std::span<std::byte> into);

// Does the same for an open file, which may have to be opened again.
absl::Status ReadAll(const OpenFile& file, uint64_t offset,
                     std::span<std::byte> into);

// Sets the length of the file to `bytes`.
absl::Status CutFile(int fd, const std::string& path, uint64_t bytes);

// Makes what was written to the file durable.
absl::Status SyncFd(int fd, const std::string& path);
// Makes the names of the files in a folder durable.
absl::Status SyncFolder(const std::string& path);

// Returns the folder that contains `path`.
std::string ParentOf(const std::string& path);

// Creates `path` and the missing folders above it, durably. Returns whether
// `path` did not exist.
absl::StatusOr<bool> MakeFolders(const std::string& path);

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_POSIX_FILE_H_
