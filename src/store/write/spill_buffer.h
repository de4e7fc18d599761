// SPDX-License-Identifier: Apache-2.0
// A buffer for bytes that are appended first and copied out later. Keeps a few
// bytes in memory and many in a file.

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
  // Creates an empty buffer. If a file is needed, it is created at `path` and
  // removed from its folder at once, so it disappears when the process ends.
  explicit SpillBuffer(std::string path) : path_(std::move(path)) {}

  // Keeps the name of the file from now on, so that another process can
  // continue with it. If `bytes` is not 0, continues after the first `bytes`
  // bytes of the file. DataLoss if they are missing or their CRC32C is not
  // `checksum`. REQUIRES: nothing has been appended.
  absl::Status KeepFile(uint64_t bytes, uint32_t checksum);
  // Writes what is in memory. REQUIRES: KeepFile() was called.
  absl::Status Flush();
  // Makes what has been written durable. Any thread may call it.
  absl::Status SyncWritten() const;

  absl::Status Append(std::span<const std::byte> bytes);
  // Appends all bytes to `out`.
  absl::Status CopyTo(FileWriter* out);

  uint64_t size() const { return spilled_ + tail_.size(); }
  // Returns the CRC32C of what has been written to the file; after Flush(),
  // that is everything.
  uint32_t checksum() const { return checksum_; }

 private:
  // Writes what is in memory to the file.
  absl::Status Spill();
  // Computes the CRC32C of the first `bytes` bytes of the file.
  absl::StatusOr<uint32_t> ReadChecksum(uint64_t bytes) const;

  const std::string path_;
  std::vector<std::byte> tail_;
  OwnedFd file_;
  uint64_t spilled_ = 0;
  uint32_t checksum_ = 0;  // of the spilled bytes
};

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_WRITE_SPILL_BUFFER_H_
