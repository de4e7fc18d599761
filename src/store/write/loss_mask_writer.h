// SPDX-License-Identifier: Apache-2.0
// Writes the loss mask of a store, from its first token to its last.

#ifndef PONIENTE_STORE_WRITE_LOSS_MASK_WRITER_H_
#define PONIENTE_STORE_WRITE_LOSS_MASK_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "store/manifest/content_hash.h"
#include "store/write/file_writer.h"
#include "store/write/loss_bits.h"
#include "store/write/spill_buffer.h"

namespace poniente::internal {

// Memory: about 2 MiB for a mask of any size.
// Errors: those of the disk, with path and offset. After an error the file is
//     useless.
// Thread safety: SyncWritten() on any thread, the others on one thread at a
//     time.
class LossMaskWriter {
 public:
  // How far a mask was written.
  struct State {
    uint64_t bits = 0;
    // Of all whole bytes, which are in the file.
    uint32_t checksum = 0;
    // The bits after them; 0 if there are none.
    uint8_t last_byte = 0;
  };

  // Creates the file. Fails if it exists already. `scratch` is the path of a
  // file for checksums, needed only for a large mask.
  static absl::StatusOr<std::unique_ptr<LossMaskWriter>> Create(
      std::string path, std::string scratch, uint64_t block_bytes);
  // Continues a file where Flush() returned `state`, and cuts off the rest.
  // DataLoss if the file is shorter or its checksum differs.
  static absl::StatusOr<std::unique_ptr<LossMaskWriter>> Continue(
      const std::string& path, std::string scratch, uint64_t block_bytes,
      const State& state);

  LossMaskWriter(const LossMaskWriter&) = delete;
  LossMaskWriter& operator=(const LossMaskWriter&) = delete;

  // Returns the number of bits so far.
  uint64_t size() const { return size_; }

  absl::Status Append(const LossBits& bits);
  // Appends ones until there are `size` bits. REQUIRES: there are not more.
  absl::Status FillTo(uint64_t size);

  // Writes what is buffered.
  absl::StatusOr<State> Flush();
  // Makes what has been written durable.
  absl::Status SyncWritten() const { return file_->SyncWritten(); }

  // Pads the file, makes it durable, and appends the checksums of its blocks to
  // `checksums`. Returns the file's key for the fingerprint. No other call may
  // follow.
  absl::StatusOr<uint64_t> Finish(FileWriter* checksums);

 private:
  LossMaskWriter(std::string scratch, uint64_t block_bytes);

  // Receives the bytes of the file.
  absl::Status Observe(std::span<const std::byte> bytes);
  // Appends the first `count` bits of a byte; the others are 0.
  absl::Status AppendByte(uint8_t bits, uint32_t count);

  std::unique_ptr<FileWriter> file_;
  uint64_t size_ = 0;
  uint8_t last_byte_ = 0;  // the first size_ % 8 bits count
  uint32_t checksum_ = 0;  // of the bytes written
  FileKey key_;
  BlockHasher blocks_;
  SpillBuffer block_checksums_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_WRITE_LOSS_MASK_WRITER_H_
