// SPDX-License-Identifier: Apache-2.0
// A regular file held open for random reads.

#ifndef PONIENTE_IO_FILES_OPEN_FILE_H_
#define PONIENTE_IO_FILES_OPEN_FILE_H_

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "io/files/ring_file.h"
#include "poniente/byte_reader.h"

namespace poniente::internal {

// Distinguishes one version of a file from any other file or version.
struct FileIdentity {
  // Device, inode, bytes, mtime, ctime in ns.
  std::array<uint64_t, 5> facts = {};

  uint64_t bytes() const { return facts[2]; }

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
  template <class H>
  friend H AbslHashValue(H state, const FileIdentity& identity) {
    return H::combine(std::move(state), identity.facts);
  }
};

// Returns "a pipe" and the like, for messages about files that are not regular.
std::string_view KindOfFile(mode_t mode);

// An open regular file. Closes its descriptor.
class OpenFile {
 public:
  // Opens the file. If the soft limit on descriptors is reached, raises it to
  // the hard limit. Errors have errno's code and name the path and a remedy;
  // InvalidArgument if the file is not regular.
  static absl::StatusOr<OpenFile> Open(std::string path);
  // Runs the check of `expected`, then opens the file. FailedPrecondition if it
  // does not have the expected size.
  static absl::StatusOr<OpenFile> OpenExpected(std::string path,
                                               const ExpectedFile& expected);

  OpenFile(OpenFile&&) noexcept = default;
  OpenFile& operator=(OpenFile&&) = delete;

  const std::string& path() const { return path_; }
  int fd() const { return file_.fd(); }
  const RingFile& file() const { return file_; }
  // Returns the size when the file was opened.
  uint64_t size() const { return identity_.bytes(); }
  const FileIdentity& identity() const { return identity_; }
  // Returns the current identity; nullopt if it cannot be determined.
  std::optional<FileIdentity> IdentityNow() const;
  // Returns the current size; size() if that cannot be determined.
  uint64_t SizeNow() const;
  // Returns whether the file has at least `end` bytes; true if that cannot be
  // determined. Waits for a truncation in progress, because its zeros may be
  // visible before its size. REQUIRES: end > 0.
  bool Reaches(uint64_t end) const;

 private:
  OpenFile(std::string path, int fd) : path_(std::move(path)), file_(fd) {}

  std::string path_;
  RingFile file_;
  FileIdentity identity_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_IO_FILES_OPEN_FILE_H_
