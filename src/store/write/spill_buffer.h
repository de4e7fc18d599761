// SPDX-License-Identifier: Apache-2.0
// Bytes that are appended now and copied out later: in memory while they are
// few, in a file once they are many.

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
  // Creates an empty buffer. A file, if one is needed, is created at `path` and
  // removed from its folder at once, so it disappears with the process.
  explicit SpillBuffer(std::string path) : path_(std::move(path)) {}

  // Keeps the file under its name from now on, so that another process can
  // continue with it. If `bytes` is not 0, continues after that many bytes of
  // the file, whose CRC32C is `checksum`; DataLoss if they are missing or
  // differ. REQUIRES: nothing has been appended.
  absl::Status KeepFile(uint64_t bytes, uint32_t checksum);
  // Writes what is in memory. REQUIRES: KeepFile() was called.
  absl::Status Flush();
  // Makes what has been written durable. On any thread.
  absl::Status SyncWritten() const;

  absl::Status Append(std::span<const std::byte> bytes);
  absl::Status CopyTo(FileWriter* out);

  uint64_t size() const { return spilled_ + tail_.size(); }
  // Returns the CRC32C of what has been written; after Flush(), of everything.
  uint32_t checksum() const { return checksum_; }

 private:
  absl::Status Spill();
  // Reads the checksum of the first `bytes` bytes of the file.
  absl::StatusOr<uint32_t> ReadChecksum(uint64_t bytes) const;

  const std::string path_;
  std::vector<std::byte> tail_;
  OwnedFd file_;
  uint64_t spilled_ = 0;
  uint32_t checksum_ = 0;  // of those
};

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_WRITE_SPILL_BUFFER_H_
