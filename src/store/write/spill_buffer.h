// SPDX-License-Identifier: Apache-2.0
// Bytes to be appended now and copied out later: in memory while they are few,
// in a file when they are many.

#ifndef PONIENTE_STORE_WRITE_SPILL_BUFFER_H_
#define PONIENTE_STORE_WRITE_SPILL_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "store/posix_file.h"
#include "store/write/file_writer.h"

namespace poniente::internal {

// Memory: at most 1 MiB and the largest single append.
// Errors: those of the disk, with the path the file has or had.
// Thread safety: one thread at a time.
class SpillBuffer {
 public:
  // `path` is where the file is made, if it must be, and removed at once: it
  // goes with this process, whatever becomes of it.
  explicit SpillBuffer(std::string path) : path_(std::move(path)) {}

  // From here on the file keeps its name, so that another process can go on
  // with it: after `bytes` bytes of those it has now, if not 0, whose CRC32C is
  // `checksum`; DataLoss if they are not there, or others.
  // REQUIRES: nothing has been appended.
  absl::Status KeepFile(uint64_t bytes, uint32_t checksum);
  // Writes what is in memory. REQUIRES: KeepFile() was called.
  absl::Status Flush();
  // Makes what has been written durable. On any thread.
  absl::Status SyncWritten() const;

  absl::Status Append(std::span<const std::byte> bytes);
  absl::Status CopyTo(FileWriter* out);

  uint64_t size() const { return spilled_ + tail_.size(); }
  // CRC32C of what has been written; after Flush(), of all.
  uint32_t checksum() const { return checksum_; }

 private:
  absl::Status Spill();
  // Of the first `bytes` bytes of the file.
  absl::StatusOr<uint32_t> ReadChecksum(uint64_t bytes) const;

  const std::string path_;
  std::vector<std::byte> tail_;
  OwnedFd file_;
  uint64_t spilled_ = 0;
  uint32_t checksum_ = 0;  // of those
};

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_WRITE_SPILL_BUFFER_H_
