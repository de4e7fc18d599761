// SPDX-License-Identifier: Apache-2.0
// The stored checksums of a file's blocks, and which blocks have been verified.

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
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "io/files/open_file.h"
#include "poniente/byte_reader.h"
#include "util/mutex.h"

namespace poniente::internal {

// One bit per block of a file. All accesses are relaxed: a bit publishes
// nothing, and a bit that is seen late costs one more verification.
class BlockMarks {
 public:
  explicit BlockMarks(uint64_t blocks) : words_((blocks + 63) / 64) {}

  uint64_t bytes() const { return words_.size() * 8; }
  // Brings the first words into the caches.
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

// What has been verified of a file in one of its versions.
struct VerifiedBlocks {
  FileIdentity file;
  // Null if blocks are verified at each touch: for ever, or
  std::shared_ptr<BlockMarks> marks;
  // until then, in ns of the steady clock; 0: for ever.
  int64_t until = 0;

  bool Has(uint64_t block) const {
    return marks != nullptr && marks->IsSeen(block);
  }
};

// How long, in ns, a file is verified at each touch after it was changed while
// open. A write call sets the file's times once, before its first byte, so they
// do not tell when the call has ended. Tests may set less.
inline std::atomic<int64_t> change_settles_nanoseconds = 60'000'000'000;

// Bytes of checksums that all files of the process may keep in memory. 0: a
// sixteenth of the memory available at first, and at least 64 MiB. Tests may
// set less.
inline std::atomic<uint64_t> max_kept_checksum_bytes = 0;

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
// readers in the process that use the same checksums. Null once the marks of
// all files would take more than 64 MiB: blocks are then verified at each
// touch.
std::shared_ptr<BlockMarks> MarksOf(const FileIdentity& file, uint64_t blocks,
                                    const ChecksumLocation& checksums);

// The checksums of one file, kept in memory by chunks. If they fit in one
// chunk, Open() reads them. Otherwise ChecksumFetch reads each chunk ahead of
// the data that needs it first, or Verify() does.
//
// Memory: 4 bytes per block. All files of the process together keep at most
//     max_kept_checksum_bytes; beyond that, each checksum is read when needed.
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
  uint64_t BeginOf(uint64_t block) const {
    return block * location_.block_bytes;
  }
  // Returns where the block ends; the last block may be shorter.
  uint64_t EndOf(uint64_t block) const {
    return std::min(file_bytes_, (block + 1) * location_.block_bytes);
  }
  // Returns what has been verified of the file as it was at the last check. A
  // caller that relies on it must check the file after reading: if it has
  // changed by then, the bytes read may have changed, too. (A file's times are
  // set before its bytes; on some file systems not for writes through a
  // mapping, nor for writes from another machine.) The result lives as long as
  // this object.
  const VerifiedBlocks& verified() const {
    return *verified_.load(std::memory_order_acquire);
  }
  // Returns the same for a caller that starts to read `file`; first checks
  // again a change that has had time to settle.
  const VerifiedBlocks& VerifiedOf(const OpenFile& file) const;
  // Returns whether the file, whose identity is now `now`, is unchanged since
  // `verified` was taken. If it is not, nothing of it counts as verified any
  // more, and blocks are verified at each touch until
  // change_settles_nanoseconds have passed without another change; for ever if
  // its size has changed, or from the 256th change on. Returns false, too, if
  // the identity cannot be determined.
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

  // Compares all bytes of the block with its checksum and records a match in
  // `verified`, which was taken before they were read. DataLoss, naming `path`,
  // if they differ. May block for a small read.
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
  void Forget(const FileIdentity& now) const;
  void Settle(const FileIdentity& now) const;
  // Makes verified() return `blocks`.
  void Publish(VerifiedBlocks blocks) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

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
  // The checksums of each chunk as they are stored; null until they are read.
  // Empty if there are too many blocks to keep a table of chunks.
  mutable std::vector<std::atomic<const std::byte*>> chunks_;
  // Reader of the file of checksums; null if all are in memory.
  std::shared_ptr<const ByteReader> stored_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_IO_BLOCK_CHECKSUMS_H_
