// SPDX-License-Identifier: Apache-2.0
// The stored checksums of a file's blocks, and marks for the verified blocks.

#ifndef PONIENTE_IO_BLOCK_CHECKSUMS_H_
#define PONIENTE_IO_BLOCK_CHECKSUMS_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "io/files/open_file.h"
#include "io/memory_budget.h"
#include "poniente/byte_reader.h"
#include "util/mutex.h"

namespace poniente::internal {

// One bit per block of a file, set once the block is verified. All accesses are
// relaxed: a bit publishes no other data, and a thread that sees a bit late
// verifies the block once more.
class BlockMarks {
 public:
  explicit BlockMarks(uint64_t blocks) : words_((blocks + 63) / 64) {}

  uint64_t bytes() const { return words_.size() * 8; }
  // Prefetches the first words into the caches.
  void Prefetch() const { __builtin_prefetch(words_.data()); }
  bool IsSeen(uint64_t block) const {
    const uint64_t word = words_[block / 64].load(std::memory_order_relaxed);
    return ((word >> (block % 64)) & 1) != 0;
  }
  void SetSeen(uint64_t block) {
    words_[block / 64].fetch_or(uint64_t{1} << (block % 64),
                                std::memory_order_relaxed);
  }

 private:
  std::vector<std::atomic<uint64_t>> words_;
};

// The verified blocks of one version of a file.
struct VerifiedBlocks {
  FileIdentity file;
  // Null: blocks are verified at each read.
  std::shared_ptr<BlockMarks> marks;
  // If `marks` is null: when this ends, in ns of the steady clock; 0: never.
  int64_t until = 0;

  bool Has(uint64_t block) const {
    return marks != nullptr && marks->IsSeen(block);
  }
};

// How long, in ns, a file is verified at each read after it was changed while
// open. A write call sets the file's times once, before its first byte, so the
// times do not show when the call ends. Tests may set less.
inline std::atomic<int64_t> change_settles_nanoseconds = 60'000'000'000;

// Memory for the checksums that all files of the process keep.
inline MemoryBudget checksum_memory;

// Where the checksums of a file are stored.
struct ChecksumLocation {
  FileIdentity file;
  uint64_t offset = 0;
  uint64_t block_bytes = 0;

  friend bool operator==(const ChecksumLocation&,
                         const ChecksumLocation&) = default;
  template <class H>
  friend H AbslHashValue(H state, const ChecksumLocation& location) {
    return H::combine(std::move(state), location.file, location.offset,
                      location.block_bytes);
  }
};

// Returns the marks for the current version of this file, shared by all its
// readers in the process that use the same checksums. Returns null if the marks
// of all files would take more than 64 MiB; blocks are then verified at each
// read.
std::shared_ptr<BlockMarks> MarksOf(const FileIdentity& file, uint64_t blocks,
                                    const ChecksumLocation& checksums);

// The checksums of one file, kept in memory by chunks. If they fit in one
// chunk, Open() reads them. Otherwise ChecksumFetch reads each chunk ahead of
// the data that needs it first, or Verify() does.
//
// Memory: 4 bytes per block. Chunks of all files of the process are kept within
//     checksum_memory; beyond that, each checksum is read when needed. A file
//     with one chunk always keeps it.
// Thread safety: any number of threads.
class FileChecksums {
 public:
  // Blocks whose checksums are read and kept together: 16 KiB of checksums.
  static constexpr uint64_t kChunkBlocks = 4096;

  // Opens the checksums. Reads them if they fit in one chunk, otherwise keeps
  // their file open.
  static absl::StatusOr<std::unique_ptr<const FileChecksums>> Open(
      const BlockChecksums& stored, const OpenFile& file);
  ~FileChecksums();

  uint64_t block_bytes() const { return location_.block_bytes; }
  // Returns the block that contains byte `offset` of the file.
  uint64_t BlockOf(uint64_t offset) const {
    return offset / location_.block_bytes;
  }
  // Returns where the block begins.
  uint64_t BeginOf(uint64_t block) const {
    return block * location_.block_bytes;
  }
  // Returns where the block ends; the last block may be shorter.
  uint64_t EndOf(uint64_t block) const {
    return std::min(file_bytes_, (block + 1) * location_.block_bytes);
  }
  // Returns the verified blocks of the file as it was at the last check. A
  // caller that relies on them must call Holds() after reading: if the file has
  // changed by then, the bytes read may be changed ones. (A write sets the
  // file's times before the bytes. Some file systems do not set them for writes
  // through a mapping or from another machine.) The result lives as long as
  // this object.
  const VerifiedBlocks& verified() const {
    return *verified_.load(std::memory_order_acquire);
  }
  // Returns the same for a caller that starts to read `file`. If the time of
  // verification at each read is over, first checks whether the file has been
  // left unchanged.
  const VerifiedBlocks& VerifiedOf(const OpenFile& file) const;
  // Returns whether the file, whose identity is now `now`, is unchanged since
  // `verified` was taken. Returns false also if the identity cannot be
  // determined. After a change, no block counts as verified any more. Blocks
  // are then verified at each read until change_settles_nanoseconds have passed
  // without another change, or for ever if the size has changed or this is at
  // least the 256th change.
  bool Holds(const VerifiedBlocks& verified,
             const std::optional<FileIdentity>& now) const;

  // Returns true if all checksums have been in memory since Open().
  bool is_in_memory() const { return stored_ == nullptr; }
  // Returns true if the checksum of `block` is in a chunk that is not in memory
  // and may be kept.
  bool WantsChunkOf(uint64_t block) const;
  // Returns the reader of the file of checksums. Chunk `c` is ChunkBytes(c)
  // bytes from ChunkOffset(c) on. REQUIRES: !is_in_memory().
  const ByteReader& reader() const { return *stored_; }
  uint64_t ChunkOffset(uint64_t chunk) const {
    return location_.offset + 4 * chunk * kChunkBlocks;
  }
  size_t ChunkBytes(uint64_t chunk) const {
    return static_cast<size_t>(
        4 * std::min(kChunkBlocks, NumBlocks() - chunk * kChunkBlocks));
  }
  // Keeps a chunk that has been read, unless another thread was first or the
  // memory for checksums is used up.
  void KeepChunk(uint64_t chunk, std::unique_ptr<std::byte[]> values) const;

  // Compares the CRC32C of `bytes`, which are all bytes of the block, with the
  // stored one, and records a match in `verified`. `verified` must have been
  // taken before the bytes were read. Returns DataLoss, naming `path`, if the
  // checksums differ. May block for a small read.
  absl::Status Verify(const std::string& path, uint64_t block,
                      std::span<const std::byte> bytes,
                      const VerifiedBlocks& verified) const;

 private:
  FileChecksums(uint64_t file_bytes, const ChecksumLocation& location)
      : file_bytes_(file_bytes), location_(location) {}

  uint64_t NumBlocks() const {
    return file_bytes_ / location_.block_bytes +
           (file_bytes_ % location_.block_bytes == 0 ? 0 : 1);
  }
  // Handles a change: no block counts as verified any more.
  void Forget(const FileIdentity& now) const;
  // Begins to mark verified blocks again if the file has not changed meanwhile.
  void Settle(const FileIdentity& now) const;
  // Makes verified() return `blocks`.
  void Publish(VerifiedBlocks blocks) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Returns the stored checksum of a block; may read it.
  absl::StatusOr<uint32_t> Stored(uint64_t block) const;
  // Reads a chunk, blocking, and keeps it.
  absl::Status ReadChunk(const OpenFile& from, uint64_t chunk) const;

  const uint64_t file_bytes_;
  const ChecksumLocation location_;
  mutable Mutex mutex_;
  // One entry per change. All are kept, because readers hold them without a
  // lock.
  mutable std::vector<std::unique_ptr<const VerifiedBlocks>> history_
      ABSL_GUARDED_BY(mutex_);
  mutable std::atomic<const VerifiedBlocks*> verified_ = nullptr;
  // The stored checksums of each chunk; null until the chunk is read. Empty if
  // there are too many blocks for a table of chunks.
  mutable std::vector<std::atomic<const std::byte*>> chunks_;
  // Reader of the file of checksums; null if all are in memory.
  std::shared_ptr<const ByteReader> stored_;
};

// Returns the DataLoss error of a block whose checksum is not the stored one.
// `remedy` begins with a semicolon.
absl::Status ChecksumMismatch(const std::string& path, uint64_t block,
                              uint64_t offset, uint64_t bytes, uint32_t stored,
                              uint32_t computed, std::string_view remedy);

}  // namespace poniente::internal

#endif  // PONIENTE_IO_BLOCK_CHECKSUMS_H_
