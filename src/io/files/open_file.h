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
  // Returns whether both are versions of one file.
  bool IsFileOf(const FileIdentity& other) const {
    return facts[0] == other.facts[0] && facts[1] == other.facts[1];
  }

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
  template <class H>
  friend H AbslHashValue(H state, const FileIdentity& identity) {
    return H::combine(std::move(state), identity.facts);
  }
};

// Returns "a pipe" and the like, for messages about files that are not regular.
std::string_view KindOfFile(mode_t mode);

// Whether an OpenFile must have a descriptor of its own.
enum class KeepDescriptor {
  kIfEnough,  // no: each use opens the file again where descriptors are few
  kAlways,
};

// A regular file, open for as long as descriptors are enough. Closes its
// descriptor.
class OpenFile {
 public:
  // Opens the file. If the soft limit on descriptors is reached, raises it to
  // the hard limit. Errors have errno's code and name the path and a remedy;
  // InvalidArgument if the file is not regular.
  static absl::StatusOr<OpenFile> Open(
      std::string path, KeepDescriptor keep = KeepDescriptor::kIfEnough);
  // Runs the check of `expected`, then opens the file. FailedPrecondition if it
  // does not have the expected size.
  static absl::StatusOr<OpenFile> OpenExpected(
      std::string path, const ExpectedFile& expected,
      KeepDescriptor keep = KeepDescriptor::kIfEnough);

  OpenFile(OpenFile&&) noexcept = default;
  OpenFile& operator=(OpenFile&&) = delete;

  const std::string& path() const { return path_; }
  // Returns whether the file has a descriptor of its own; constant.
  bool has_descriptor() const { return file_.fd() >= 0; }
  // REQUIRES: has_descriptor().
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
  friend class FileDescriptor;

  OpenFile(std::string path, int fd) : path_(std::move(path)), file_(fd) {}

  // Closes the descriptor; from now on, uses open the file again.
  absl::Status GiveUpDescriptor();

  std::string path_;
  // Absolute; empty if the descriptor is kept.
  std::string path_again_;
  // When the file was created, in ns, if the descriptor is not kept: a new file
  // may get the inode of one that was removed. 0 if the system does not tell.
  uint64_t created_ = 0;
  RingFile file_;
  FileIdentity identity_;
};

// A descriptor of an open file: its own, or one for the lifetime of this
// object.
class FileDescriptor {
 public:
  // Opens the file again if it has no descriptor.
  explicit FileDescriptor(const OpenFile& file);
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor();

  // Returns the descriptor, or -errno; -ESTALE if another file has the path
  // now.
  int get() const { return fd_; }

 private:
  const bool owned_;
  int fd_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_IO_FILES_OPEN_FILE_H_
