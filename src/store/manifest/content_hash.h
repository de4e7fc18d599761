// SPDX-License-Identifier: Apache-2.0
// Checksums of the blocks of a stream, and the fingerprint of a store's
// content.

#ifndef PONIENTE_STORE_MANIFEST_CONTENT_HASH_H_
#define PONIENTE_STORE_MANIFEST_CONTENT_HASH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "absl/status/status.h"
#include "index/keyed_hash.h"
#include "store/manifest/manifest.h"

namespace poniente::internal {

// Cuts a stream of bytes into blocks and passes the CRC32C of each to a sink,
// in order. The last block may be shorter.
class BlockHasher {
 public:
  using Sink = std::function<absl::Status(uint32_t checksum)>;

  BlockHasher(uint64_t block_bytes, Sink sink)
      : block_bytes_(block_bytes), sink_(std::move(sink)) {}

  // Adds bytes; may complete blocks.
  absl::Status Add(std::span<const std::byte> bytes);
  // Adds `bytes` bytes of which only the checksum is known. REQUIRES: they do
  // not extend beyond the current block.
  absl::Status AddPiece(uint32_t checksum, uint64_t bytes);
  // Passes on the checksum of the last block if that is shorter than the
  // others.
  absl::Status Finish();

  // Return the number of bytes in the current block so far, and their checksum.
  uint64_t filled() const { return filled_; }
  uint32_t checksum() const { return checksum_; }

 private:
  const uint64_t block_bytes_;
  const Sink sink_;
  uint64_t filled_ = 0;
  uint32_t checksum_ = 0;
};

// Number of bytes under one checksum of a FileKey; independent of the store's
// block size.
inline constexpr uint64_t kKeyBlockBytes = 65536;

// Computes a key of one file from its checksums. These always cover 64 KiB
// each, so that a store's fingerprint does not depend on its block size.
class FileKey {
 public:
  FileKey();
  FileKey(const FileKey&) = delete;
  FileKey& operator=(const FileKey&) = delete;

  absl::Status Add(std::span<const std::byte> bytes) {
    return units_.Add(bytes);
  }
  absl::Status AddPiece(uint32_t checksum, uint64_t bytes) {
    return units_.AddPiece(checksum, bytes);
  }
  uint64_t Finish();

 private:
  KeyHash hash_;
  BlockHasher units_;
};

// Returns the fingerprint of the content that a reader of the store can see. It
// does not depend on manifest.fingerprint, the generation, the block size or
// the file names. `loss_mask_key` counts only if the store has a mask.
uint64_t ContentFingerprint(const StoreManifest& manifest, uint64_t tokens_key,
                            uint64_t documents_key, uint64_t loss_mask_key);

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_MANIFEST_CONTENT_HASH_H_
