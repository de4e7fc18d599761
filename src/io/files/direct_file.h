// SPDX-License-Identifier: Apache-2.0
// A second descriptor of a file, for reads past the page cache.

#ifndef PONIENTE_IO_FILES_DIRECT_FILE_H_
#define PONIENTE_IO_FILES_DIRECT_FILE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "io/files/open_file.h"
#include "io/files/ring_file.h"

namespace poniente::internal {

// A file that is open with O_DIRECT. Closes its descriptor.
class DirectFile {
 public:
  // Opens the same file as `file`, even if its path names another file by now.
  // ResourceExhausted also if it would take one of the last descriptors. Other
  // errors have errno's code and a message like "open with O_DIRECT: Invalid
  // argument".
  static absl::StatusOr<DirectFile> Open(const OpenFile& file);

  const RingFile& file() const { return file_; }
  // Return the alignment of offsets and lengths, and that of addresses, in
  // bytes. Both are powers of two.
  uint64_t offset_alignment() const { return offset_alignment_; }
  uint64_t memory_alignment() const { return memory_alignment_; }

 private:
  explicit DirectFile(int fd) : file_(fd) {}

  RingFile file_;
  // Every block device accepts this; statx may report less.
  uint64_t offset_alignment_ = 4096;
  uint64_t memory_alignment_ = 4096;
};

}  // namespace poniente::internal

#endif  // PONIENTE_IO_FILES_DIRECT_FILE_H_
