// SPDX-License-Identifier: Apache-2.0
// The stored checksums of a file's blocks, and which blocks have been found to
// match.

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
// nothing, and one that is seen late costs a second verification.
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

// What has been verified of a file as it was at one time.
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

// How long a file that was changed while it was open is verified at each touch.
// A call that writes sets the file's times once, before its first byte, so a
// look at them does not tell when it has ended. A test may set less.
inline std::atomic<int64_t> change_settles_nanoseconds = 60'000'000'000;

// Bytes of checksums that all files of the process may keep in memory; 0: a
// sixteenth of what is available at first, and at least 64 MiB. For tests.
inline std::atomic<uint64_t> max_kept_checksum_bytes = 0;

// Where a file's checksums are.
struct ChecksumPlace {
  FileIdentity file;
  uint64_t offset = 0;
  uint64_t block_bytes = 0;

  friend bool operator==(const ChecksumPlace&, const ChecksumPlace&) = default;
  template <class H>
  friend H AbslHashValue(H state, const ChecksumPlace& place) {
    return H::combine(std::move(state), place.file, place.offset,
                      place.block_bytes);
  }
};

// The marks for this file as it is now, the same for all its readers in the
// process that compare it with the same checksums. Null once the marks of all
// files would take more than 64 MiB: then blocks are verified at each touch.
std::shared_ptr<BlockMarks> MarksOf(const FileIdentity& file, uint64_t blocks,
                                    const ChecksumPlace& checksums);

// The checksums of one file. They are kept in memory by chunks: of a file of
// one chunk they are read when it is opened; of more, each chunk when it is
// first needed, by whoever asks or by ChecksumFetch, ahead of the data.
//
// Memory: 4 bytes per block, for all files of the process together at most a
//     sixteenth of the memory that is available at first, and at least 64 MiB.
//     Beyond that each checksum is read from its file when it is needed.
// Thread safety: any number of threads.
class FileChecksums {
 public:
  // Blocks whose checksums are read and kept together: 16 KiB of checksums.
  static constexpr uint64_t kChunkBlocks = 4096;

  // Reads the checksums if they are one chunk at most, else keeps their file
  // open.
  static absl::StatusOr<std::unique_ptr<const FileChecksums>> Open(
      const BlockChecksums& stored, const OpenFile& file);
  ~FileChecksums();

  uint64_t block_bytes() const { return place_.block_bytes; }
  // The one that holds byte `offset` of the file.
  uint64_t BlockOf(uint64_t offset) const {
    return offset / place_.block_bytes;
  }
  uint64_t BeginOf(uint64_t block) const { return block * place_.block_bytes; }
  // Where the block ends; the last may be shorter.
  uint64_t EndOf(uint64_t block) const {
    return std::min(file_bytes_, (block + 1) * place_.block_bytes);
  }
  // Of the file as it was when last looked at. Who relies on it looks at the
  // file after reading: if it is another by then, what was read may be, too.
  // (Its times are set before its bytes. Not on every file system for what is
  // written through a mapping, nor for what another machine writes.)
  // Lives as long as this.
  const VerifiedBlocks& verified() const {
    return *verified_.load(std::memory_order_acquire);
  }
  // The same for who begins to read `file`: a change that has had time to
  // settle is looked at first.
  const VerifiedBlocks& VerifiedOf(const OpenFile& file) const;
  // The file, which is `now` what it says, is still as it was when `verified`
  // was taken. If it is not, nothing of it is verified any more, and blocks are
  // verified at each touch until change_settles_nanoseconds have gone by
  // without another change; for ever if its size is another, or from the 256th
  // change on. False, too, if it cannot be told what it is.
  bool Holds(const VerifiedBlocks& verified,
             const std::optional<FileIdentity>& now) const;

  // No chunk is missing, or will be.
  bool is_in_memory() const { return stored_ == nullptr; }
  // The chunk that the block's checksum is in is to be read before Verify()
  // compares with it, and there is memory to keep it.
  bool WantsChunkOf(uint64_t block) const;
  // What to read for that, of `bytes` bytes at `offset` of reader().
  // REQUIRES: WantsChunkOf() was true of a block of it.
  const ByteReader& reader() const { return *stored_; }
  uint64_t ChunkOffset(uint64_t chunk) const {
    return place_.offset + 4 * chunk * kChunkBlocks;
  }
  size_t ChunkBytes(uint64_t chunk) const {
    return static_cast<size_t>(
        4 * std::min(kChunkBlocks, NumBlocks() - chunk * kChunkBlocks));
  }
  // Keeps a chunk that has been read, unless another thread was first or there
  // is no memory left for it.
  void KeepChunk(uint64_t chunk, std::unique_ptr<std::byte[]> values) const;

  // Compares all bytes of the block with its checksum and remembers that they
  // match in `verified`, which was taken before they were read. DataLoss,
  // naming `path`, if they do not. May block for a small read.
  absl::Status Verify(const std::string& path, uint64_t block,
                      std::span<const std::byte> bytes,
                      const VerifiedBlocks& verified) const;

 private:
  FileChecksums(uint64_t file_bytes, const ChecksumPlace& place)
      : file_bytes_(file_bytes), place_(place) {}

  uint64_t NumBlocks() const {
    return file_bytes_ / place_.block_bytes +
           (file_bytes_ % place_.block_bytes == 0 ? 0 : 1);
  }
  void Forget(const FileIdentity& now) const;
  void Settle(const FileIdentity& now) const;
  // Makes `blocks` what verified() gives.
  void Publish(VerifiedBlocks blocks) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::StatusOr<uint32_t> Stored(uint64_t block) const;
  // Reads and keeps it, blocking.
  absl::Status ReadChunk(const OpenFile& from, uint64_t chunk) const;

  const uint64_t file_bytes_;
  const ChecksumPlace place_;
  mutable Mutex mutex_;
  // A change each. All are kept, as readers hold them without a lock.
  mutable std::vector<std::unique_ptr<const VerifiedBlocks>> history_
      ABSL_GUARDED_BY(mutex_);
  mutable std::atomic<const VerifiedBlocks*> verified_ = nullptr;
  // Of each chunk its checksums as they are stored, null until they are read;
  // empty if there are too many to keep.
  mutable std::vector<std::atomic<const std::byte*>> chunks_;
  // The file of checksums; null if all are in memory.
  std::shared_ptr<const ByteReader> stored_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_IO_BLOCK_CHECKSUMS_H_
