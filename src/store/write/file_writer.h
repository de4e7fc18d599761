// SPDX-License-Identifier: Apache-2.0
// Writes one new file from its beginning to its end, through a buffer.

#ifndef PONIENTE_STORE_WRITE_FILE_WRITER_H_
#define PONIENTE_STORE_WRITE_FILE_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "store/posix_file.h"

namespace poniente::internal {

// Errors: those of the disk, with path and offset. After an error the file is
//     useless.
// Thread safety: one thread at a time.
class FileWriter {
 public:
  // Receives all bytes of the file, once, in order.
  using Observer = std::function<absl::Status(std::span<const std::byte>)>;

  // Creates the file. Fails if it exists already.
  static absl::StatusOr<std::unique_ptr<FileWriter>> Create(std::string path,
                                                            Observer observer);

  // Continues a file after its first `bytes` bytes: passes them to the observer
  // and cuts off the rest. DataLoss if the file is shorter.
  static absl::StatusOr<std::unique_ptr<FileWriter>> Continue(
      std::string path, uint64_t bytes, Observer observer);

  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  absl::Status Append(std::span<const std::byte> bytes);

  // Give access to the buffer, to encode in place. room() returns at least 8
  // bytes of the buffer; Advance() appends the first `bytes` of them to the
  // file.
  std::span<std::byte> room();
  absl::Status Advance(size_t bytes);

  // Writes zeros up to the next multiple of `alignment`.
  absl::Status Pad(uint64_t alignment);
  // Writes what is buffered.
  absl::Status Flush();
  // Makes what has been written durable. Any thread may call it.
  absl::Status SyncWritten() const;
  // Writes what is buffered, and makes the file durable.
  absl::Status Sync();

  // Returns the size of the file so far, including buffered bytes.
  uint64_t size() const { return written_ + filled_; }

 private:
  FileWriter(std::string path, OwnedFd fd, Observer observer);

  const std::string path_;
  const OwnedFd fd_;
  const Observer observer_;
  const std::unique_ptr<std::byte[]> buffer_;
  size_t filled_ = 0;
  uint64_t written_ = 0;
};

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_WRITE_FILE_WRITER_H_
