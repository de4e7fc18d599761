// SPDX-License-Identifier: Apache-2.0
// A file beside the tokens of a store, for small reads that block.

#ifndef PONIENTE_STORE_READ_SIDE_FILE_H_
#define PONIENTE_STORE_READ_SIDE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "io/block_checksums.h"
#include "io/files/open_file.h"
#include "io/lazily_made.h"
#include "poniente/byte_reader.h"
#include "util/mutex.h"

namespace poniente::internal {

// A file that is read into memory and closed if it is small, so that thousands
// of small stores can be open at once; a larger file stays open.
//
// Checksums: a file in memory is verified as a whole when it is read from the
//     disk. If the file stays open, each block is verified at its first read,
//     or at each read. Reads of blocks that do not match fail with DataLoss.
// Thread safety: any number of threads.
class SideFile {
 public:
  // Largest file that is kept in memory, in bytes.
  static constexpr uint64_t kMaxKeptBytes = 16384;

  // Opens the file, and reads it if it is small.
  static absl::StatusOr<SideFile> Open(
      std::string path, std::optional<BlockChecksums> checksums = std::nullopt,
      VerifyChecksums verify = VerifyChecksums::kFirstTouch);
  // Returns a file that the first read opens, with `expected` as in ByteFile.
  // If a read fails to open it, the next one tries again.
  static SideFile OpenLater(
      std::string path, ExpectedFile expected,
      std::optional<BlockChecksums> checksums = std::nullopt,
      VerifyChecksums verify = VerifyChecksums::kFirstTouch);

  const std::string& path() const { return path_; }
  // Returns the size when the file was opened, or the expected size.
  uint64_t size() const { return size_; }

  // Fills `into` from byte `offset` on. DataLoss if the file ends earlier.
  absl::Status ReadAt(uint64_t offset, std::span<std::byte> into) const;
  // Has the kernel read these bytes if the file is open, without waiting. Only
  // advice.
  void WillRead(uint64_t offset, uint64_t bytes) const;

 private:
  // Either the bytes of the file or the open file. The bytes are kept without
  // the zeros at the file's end, which are most of a small file.
  struct Content {
    std::vector<std::byte> kept;
    std::optional<OpenFile> open;
    // For a file in memory: the error of its verification, which every read
    // returns.
    absl::Status damage;
    // For an open file; null if checksums are not compared.
    std::unique_ptr<const FileChecksums> checksums;
  };
  // On the heap, so that a SideFile can be moved.
  struct Opening {
    ExpectedFile expected;
    Mutex making;
    LazilyMade<Content> content;
  };

  SideFile(std::string path, uint64_t size,
           std::optional<BlockChecksums> checksums, VerifyChecksums verify)
      : path_(std::move(path)),
        size_(size),
        checksums_(std::move(checksums)),
        verify_(verify),
        opening_(std::make_unique<Opening>()) {}

  absl::StatusOr<Content> Take(OpenFile file) const;
  absl::StatusOr<Content> OpenExpected() const;
  absl::Status ReadVerified(const Content& content, uint64_t offset,
                            std::span<std::byte> into) const;

  std::string path_;
  uint64_t size_;
  std::optional<BlockChecksums> checksums_;
  VerifyChecksums verify_;
  std::unique_ptr<Opening> opening_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_READ_SIDE_FILE_H_
