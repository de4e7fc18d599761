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

// What tells a file, as it was at one time, from any other.
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

// "a pipe", for messages about what is not a regular file.
std::string_view KindOfFile(mode_t mode);

// Ownership: closes its descriptor.
class OpenFile {
 public:
  // Where the soft limit of descriptors ends, raises it to the hard one.
  // Errors: as errno says, naming path and remedy; InvalidArgument for what is
  // not a regular file.
  static absl::StatusOr<OpenFile> Open(std::string path);
  // After its check, and if it has as many bytes; else FailedPrecondition.
  static absl::StatusOr<OpenFile> OpenExpected(std::string path,
                                               const ExpectedFile& expected);

  OpenFile(OpenFile&&) noexcept = default;
  OpenFile& operator=(OpenFile&&) = delete;

  const std::string& path() const { return path_; }
  int fd() const { return file_.fd(); }
  const RingFile& file() const { return file_; }
  // Bytes when opened.
  uint64_t size() const { return identity_.bytes(); }
  const FileIdentity& identity() const { return identity_; }
  // What it is now; none if it cannot be told.
  std::optional<FileIdentity> IdentityNow() const;
  // Bytes now; as when opened, if it cannot be told.
  uint64_t SizeNow() const;
  // It reaches `end`, or cannot be looked at. Waits for a truncation that is
  // under way, whose zeros may be seen before its size. REQUIRES: end > 0.
  bool Reaches(uint64_t end) const;

 private:
  OpenFile(std::string path, int fd) : path_(std::move(path)), file_(fd) {}

  std::string path_;
  RingFile file_;
  FileIdentity identity_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_IO_FILES_OPEN_FILE_H_
