// SPDX-License-Identifier: Apache-2.0
#include "io/block_checksums.h"

#include <unistd.h>

#include <boost/unordered/unordered_flat_map.hpp>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/hash/hash.h"
#include "io/files/fault_hooks.h"
#include "io/reader_file.h"
#include "io/uring/uring_setup.h"
#include "util/byte_order.h"
#include "util/crc32c.h"
#include "util/mutex.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Chunks are not kept for a file with more blocks, because the table of chunks
// alone would be too large.
constexpr uint64_t kMaxKeptBlocks = uint64_t{1} << 34;
constexpr uint64_t kMaxMarkBytes = uint64_t{64} << 20;
constexpr size_t kMaxGenerations = 512;  // two per change
constexpr uint64_t kMaxBlocks = uint64_t{1} << 48;
constexpr char kRemedy[] = "; restore the file from a copy or write it again";

// Readers share marks if they read the same file and the same checksums.
using MarksKey = std::pair<FileIdentity, ChecksumLocation>;

int64_t SteadyNow() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// The marks of all files. Never destroyed, so that a file that is opened again
// is not verified again.
struct AllMarks {
  Mutex mutex;
  boost::unordered_flat_map<MarksKey, std::shared_ptr<BlockMarks>,
                            absl::Hash<MarksKey>>
      by_file ABSL_GUARDED_BY(mutex);
  uint64_t bytes ABSL_GUARDED_BY(mutex) = 0;

  // Drops the marks of files that have no reader any more.
  void DropUnused() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    for (auto entry = by_file.begin(); entry != by_file.end();) {
      const auto here = entry++;
      if (here->second.use_count() > 1) continue;
      bytes -= CostOf(*here->second);
      by_file.erase(here);
    }
  }
  // Returns the bytes that the marks and their map entry take.
  static uint64_t CostOf(const BlockMarks& marks) {
    return marks.bytes() + 128;
  }
};

AllMarks& Marks() {
  static auto* const marks = new AllMarks;
  return *marks;
}

// Fills `into` from byte `offset` on.
absl::Status ReadStored(const OpenFile& file, uint64_t offset,
                        std::span<std::byte> into) {
  const FileDescriptor fd(file);
  size_t done = 0;
  int error = 0;
  for (int tries = 0; tries < 4 && done < into.size();) {
    error = FaultAt(SystemCall::kReadChecksum);
    ssize_t got = -1;
    if (error == 0 && fd.get() < 0) error = -fd.get();
    if (error == 0) {
      got = ::pread(fd.get(), into.data() + done, into.size() - done,
                    static_cast<off_t>(offset + done));
      error = got < 0 ? errno : 0;
    }
    if (got > 0) {
      done += static_cast<size_t>(got);
    } else if (got == 0) {
      return absl::DataLossError(absl::StrCat(
          file.path(), ": checksums of ", into.size(), " bytes at offset ",
          offset, ": the file ends at ", offset + done, kRemedy));
    } else {
      ++tries;  // the error may be transient
    }
  }
  if (done == into.size()) return absl::OkStatus();
  return absl::Status(
      error == EIO ? absl::StatusCode::kDataLoss
                   : absl::ErrnoToStatusCode(error),
      absl::StrCat(file.path(), ": read of ", into.size(), " bytes at offset ",
                   offset, ": ", std::generic_category().message(error),
                   ", 4 times; see the kernel's log (dmesg)"));
}

std::string Hex(uint32_t checksum) {
  return absl::StrCat(absl::Hex(checksum, absl::kZeroPad8));
}

}  // namespace

std::shared_ptr<BlockMarks> MarksOf(const FileIdentity& file, uint64_t blocks,
                                    const ChecksumLocation& checksums) {
  if (blocks / 8 > kMaxMarkBytes) return nullptr;
  AllMarks& all = Marks();
  MutexLock lock(&all.mutex);
  const auto found = all.by_file.find({file, checksums});
  if (found != all.by_file.end()) return found->second;
  auto made = std::make_shared<BlockMarks>(blocks);
  const uint64_t cost = AllMarks::CostOf(*made);
  if (all.bytes + cost > kMaxMarkBytes) all.DropUnused();
  if (all.bytes + cost > kMaxMarkBytes) return nullptr;
  all.bytes += cost;
  all.by_file[{file, checksums}] = made;
  return made;
}

absl::StatusOr<std::unique_ptr<const FileChecksums>> FileChecksums::Open(
    const BlockChecksums& stored, const OpenFile& file) {
  if (stored.block_bytes == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        file.path(), ": checksums of blocks of 0 bytes; give block_bytes"));
  }
  PONIENTE_ASSIGN_OR_RETURN(OpenFile opened, OpenFile::Open(stored.path));
  std::unique_ptr<FileChecksums> made(new FileChecksums(
      file.size(), {opened.identity(), stored.offset, stored.block_bytes}));
  const uint64_t blocks = made->NumBlocks();
  if (blocks > kMaxBlocks || stored.offset > opened.size() ||
      blocks > (opened.size() - stored.offset) / 4) {
    return absl::DataLossError(absl::StrCat(
        stored.path, ": has ", opened.size(), " bytes, the checksums of ",
        blocks, " blocks of ", file.path(), " need 4 each from offset ",
        stored.offset, " on", kRemedy));
  }
  {
    MutexLock lock(&made->mutex_);
    made->Publish(
        {file.identity(), MarksOf(file.identity(), blocks, made->location_)});
  }
  if (blocks <= kMaxKeptBlocks) {
    made->chunks_ = std::vector<std::atomic<const std::byte*>>(
        static_cast<size_t>((blocks + kChunkBlocks - 1) / kChunkBlocks));
  }
  if (blocks <= kChunkBlocks) {
    if (blocks > 0) PONIENTE_RETURN_IF_ERROR(made->ReadChunk(opened, 0));
    return made;
  }
  ByteReaderOptions options;
  // If `opened` has given up its descriptor because few are left, uses pread:
  // a reader for the ring would keep its descriptor.
  const bool by_ring = opened.has_descriptor() && ProbeUring().ok();
  options.backend = by_ring ? IoBackend::kBuffered : IoBackend::kPread;
  PONIENTE_ASSIGN_OR_RETURN(made->stored_,
                            ByteReader::Open({stored.path}, options));
  return made;
}

FileChecksums::~FileChecksums() {
  uint64_t bytes = 0;
  for (uint64_t chunk = 0; chunk < chunks_.size(); ++chunk) {
    const std::byte* const values = chunks_[chunk].load();
    if (values != nullptr) bytes += ChunkBytes(chunk);
    delete[] values;
  }
  checksum_memory.Return(bytes);
}

void FileChecksums::Publish(VerifiedBlocks blocks) const {
  history_.push_back(std::make_unique<const VerifiedBlocks>(std::move(blocks)));
  // Release: verified() reads it without the lock.
  verified_.store(history_.back().get(), std::memory_order_release);
}

const VerifiedBlocks& FileChecksums::VerifiedOf(const OpenFile& file) const {
  const int64_t until = verified().until;
  if (until != 0 && SteadyNow() >= until) {
    const std::optional<FileIdentity> now = file.IdentityNow();
    if (now.has_value()) Settle(*now);
  }
  return verified();
}

bool FileChecksums::Holds(const VerifiedBlocks& verified,
                          const std::optional<FileIdentity>& now) const {
  if (now == verified.file) return true;
  if (now.has_value()) Forget(*now);
  return false;
}

void FileChecksums::Forget(const FileIdentity& now) const {
  MutexLock lock(&mutex_);
  if (history_.back()->file == now) return;
  const bool settles =
      now.bytes() == file_bytes_ && history_.size() < kMaxGenerations;
  Publish({now, nullptr,
           settles ? SteadyNow() + change_settles_nanoseconds.load(
                                       std::memory_order_relaxed)
                   : 0});
}

void FileChecksums::Settle(const FileIdentity& now) const {
  {
    MutexLock lock(&mutex_);
    const VerifiedBlocks& last = *history_.back();
    if (last.until == 0 || SteadyNow() < last.until) return;  // done already
    if (last.file == now) {
      Publish({now, MarksOf(now, NumBlocks(), location_)});
      return;
    }
  }
  Forget(now);
}

bool FileChecksums::WantsChunkOf(uint64_t block) const {
  if (chunks_.empty()) return false;
  const uint64_t chunk = block / kChunkBlocks;
  // Relaxed: only tests whether the chunk is there, and does not read it.
  return chunks_[chunk].load(std::memory_order_relaxed) == nullptr &&
         checksum_memory.HasRoomFor(ChunkBytes(chunk));
}

void FileChecksums::KeepChunk(uint64_t chunk,
                              std::unique_ptr<std::byte[]> values) const {
  // The only chunk of a small file is kept in any case.
  const bool is_only = chunks_.size() == 1;
  if (is_only) {
    checksum_memory.TakeAnyway(ChunkBytes(chunk));
  } else if (!checksum_memory.Take(ChunkBytes(chunk))) {
    return;
  }
  const std::byte* expected = nullptr;
  // Release: Stored() reads the values through the pointer.
  if (chunks_[chunk].compare_exchange_strong(expected, values.get(),
                                             std::memory_order_release,
                                             std::memory_order_relaxed)) {
    values.release();
  } else {
    checksum_memory.Return(ChunkBytes(chunk));
  }
}

absl::Status FileChecksums::ReadChunk(const OpenFile& from,
                                      uint64_t chunk) const {
  auto values = std::make_unique<std::byte[]>(ChunkBytes(chunk));
  PONIENTE_RETURN_IF_ERROR(
      ReadStored(from, ChunkOffset(chunk), {values.get(), ChunkBytes(chunk)}));
  KeepChunk(chunk, std::move(values));
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> FileChecksums::Stored(uint64_t block) const {
  const uint64_t chunk = block / kChunkBlocks;
  if (WantsChunkOf(block)) {
    PONIENTE_RETURN_IF_ERROR(ReadChunk(FileOfReader(*stored_, 0), chunk));
  }
  const std::byte* const values =
      chunks_.empty() ? nullptr
                      : chunks_[chunk].load(std::memory_order_acquire);
  if (values != nullptr) {
    return LoadLittle<uint32_t>(values + 4 * (block % kChunkBlocks));
  }
  std::byte bytes[4];
  PONIENTE_RETURN_IF_ERROR(ReadStored(FileOfReader(*stored_, 0),
                                      location_.offset + 4 * block, bytes));
  return LoadLittle<uint32_t>(bytes);
}

absl::Status ChecksumMismatch(const std::string& path, uint64_t block,
                              uint64_t offset, uint64_t bytes, uint32_t stored,
                              uint32_t computed, std::string_view remedy) {
  return absl::DataLossError(
      absl::StrCat(path, ": checksum mismatch in block ", block, " (", bytes,
                   " bytes at offset ", offset, "): stored ", Hex(stored),
                   ", computed ", Hex(computed), Absl(remedy)));
}

absl::Status FileChecksums::Verify(const std::string& path, uint64_t block,
                                   std::span<const std::byte> bytes,
                                   const VerifiedBlocks& verified) const {
  PONIENTE_ASSIGN_OR_RETURN(const uint32_t stored, Stored(block));
  const uint32_t computed = Crc32c(bytes);
  if (stored != computed) {
    return ChecksumMismatch(path, block, BeginOf(block), bytes.size(), stored,
                            computed, kRemedy);
  }
  if (verified.marks != nullptr) verified.marks->SetSeen(block);
  return absl::OkStatus();
}

}  // namespace poniente::internal
