// SPDX-License-Identifier: Apache-2.0
// The state of a ByteReader.

#ifndef PONIENTE_IO_READER_STATE_H_
#define PONIENTE_IO_READER_STATE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "io/backend_policy.h"
#include "io/block_checksums.h"
#include "io/files/direct_file.h"
#include "io/files/open_file.h"
#include "io/lazily_made.h"
#include "io/mmap/mapping.h"
#include "poniente/byte_reader.h"
#include "util/mutex.h"

namespace poniente::internal {

// BackendCounters that many threads may add to. All accesses are relaxed: the
// counts are statistics, and publish no other data.
struct AtomicBackendCounters {
  std::atomic<uint64_t> requests = 0;
  std::atomic<uint64_t> bytes_asked = 0;
  std::atomic<uint64_t> reads = 0;
  std::atomic<uint64_t> merged_requests = 0;
  std::atomic<uint64_t> bytes_read = 0;
  std::atomic<uint64_t> submissions = 0;
  std::atomic<uint64_t> hits_at_submit = 0;
  std::atomic<uint64_t> retries = 0;
  std::atomic<uint64_t> wait_nanoseconds = 0;

  BackendCounters Load() const;
};

inline void Add(uint64_t count, std::atomic<uint64_t>* to) {
  if (count != 0) to->fetch_add(count, std::memory_order_relaxed);
}

// A text that is set at most once, at any time, and read by reference.
class OnceText {
 public:
  const std::string& get() const {
    static const std::string* const empty = new std::string;
    const std::string* text = published_.load(std::memory_order_acquire);
    return text == nullptr ? *empty : *text;
  }
  // Keeps the first text that is not empty.
  void Set(std::string text) {
    MutexLock lock(&mutex_);
    if (text.empty() || !text_.empty()) return;
    text_ = std::move(text);
    // Release: get() reads text_ through the pointer without the lock.
    published_.store(&text_, std::memory_order_release);
  }

 private:
  Mutex mutex_;
  std::string text_;
  std::atomic<const std::string*> published_ = nullptr;
};

struct ReaderState {
  ReaderState() = default;
  ~ReaderState();
  ReaderState(const ReaderState&) = delete;
  ReaderState& operator=(const ReaderState&) = delete;

  // Opens all files except those with ByteFile::expected, and sets the constant
  // members.
  absl::Status Open(std::vector<ByteFile> wanted,
                    const ByteReaderOptions& reader_options);

  const std::string& path(uint32_t file) const {
    return later.empty() ? files[file].get()->path() : later[file].path;
  }
  uint64_t size(uint32_t file) const {
    const OpenFile* const open = files[file].get();
    return open != nullptr ? open->size() : later[file].expected->bytes;
  }
  // Returns an open file. REQUIRES: it is open.
  const OpenFile& opened(uint32_t file) const { return *files[file].get(); }
  bool IsOpen(uint32_t file) const { return files[file].get() != nullptr; }
  // Opens the file if it is not open yet.
  absl::Status EnsureOpen(uint32_t file) {
    return IsOpen(file) ? absl::OkStatus() : OpenLater(file);
  }

  // Returns the backend for this reader's part of the next batch, and counts
  // the batch.
  IoBackend Next();
  // Returns the current backend without counting a batch.
  IoBackend Now() const;
  // Opens or maps the file as `wanted` needs it. Returns the backend to read
  // the file with: `wanted`, or another one if that fails.
  IoBackend Prepare(IoBackend wanted, uint32_t file);
  // Report a batch of `reads` to the policy: one through the cache, of which
  // `hits` were cached, or one of copies, which met `faults` major faults.
  void ReportBuffered(uint64_t reads, uint64_t hits);
  void ReportMapped(uint64_t reads, uint64_t faults);

  // Stop direct reads for good, because the file system or a limit refuses
  // them, and record the reason for fallback_reason().
  void RefuseDirect(std::string_view why);
  void SetFallback(IoBackend from, IoBackend to, std::string_view why);

  // Returns null if the file is not verified. REQUIRES: the file is open.
  const FileChecksums* ChecksumsOf(uint32_t file) const {
    return checksums.empty() ? nullptr : checksums[file].get();
  }
  AtomicBackendCounters& CountersOf(IoBackend of);
  // Returns the policy of kAuto; null for other backends, and until a file is
  // open.
  BackendPolicy* policy() const {
    return policy_.load(std::memory_order_acquire);
  }

  // Constant after Open().
  ByteReaderOptions options;
  size_t num_files = 0;
  // The files as they were requested, if some are opened later; else empty.
  std::vector<ByteFile> later;
  // Never kAuto. With a policy: kBuffered or kPread, the backend to use when
  // the policy says kBuffered.
  IoBackend backend = IoBackend::kBuffered;
  bool shares_policy = false;  // with other small readers
  uint64_t counted_bytes = 0;  // this reader's part of the auto readers' bytes

  // For any thread.
  Mutex making;
  std::unique_ptr<LazilyMade<OpenFile>[]> files;
  // By file; null for a file without checksums. Empty if no file is verified.
  // Each is set under `making` before its file, and constant afterwards.
  std::vector<std::unique_ptr<const FileChecksums>> checksums;
  std::unique_ptr<LazilyMade<DirectFile>[]> direct;  // per file
  std::unique_ptr<LazilyMade<Mapping>[]> mappings;   // per file
  // Relaxed: a thread that sees the value late makes one more attempt, which is
  // refused again.
  std::atomic<bool> refuses_direct = false;
  std::atomic<bool> refuses_mapping = false;
  // Whether a read through the page cache that is complete right after its
  // submission was cached. Known once a file is open; relaxed, as above.
  std::atomic<bool> hits_tell = false;
  // Consecutive batches of copies without a major fault, up to the number after
  // which the files count as cached: from then on no thread writes it.
  static constexpr int kCalmBatches = 8;
  std::atomic<int> calm_batches = 0;
  OnceText fallback_reason;
  AtomicBackendCounters counters[4];  // see CountersOf()
  std::atomic<uint64_t> blocks_verified = 0;

 private:
  // Sets `backend` from the options and from what the system supports.
  absl::Status ChooseBackend();
  absl::Status OpenLater(uint32_t file);
  // Opens the file, its checksums and, for kMmap, its mapping.
  absl::StatusOr<OpenFile> OpenNow(uint32_t file, const ByteFile& wanted)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(making);
  // Examines the file system of the first file that is opened, once, and
  // creates the policy. `first` is null if the reader has no files.
  void LookAround(const OpenFile* first) ABSL_EXCLUSIVE_LOCKS_REQUIRED(making);
  // Prepares the reader for kAuto: counts its bytes.
  void Adapt();
  absl::Status EnsureMapped(uint32_t file);
  // Returns whether the files of all auto readers fit in the page cache.
  bool FitsCache() const;

  bool has_looked_around_ ABSL_GUARDED_BY(making) = false;
  std::shared_ptr<BackendPolicy> owned_policy_ ABSL_GUARDED_BY(making);
  std::atomic<BackendPolicy*> policy_ = nullptr;
};

struct ReaderAccess {
  static ReaderState& State(const ByteReader& reader) { return *reader.state_; }
};

}  // namespace poniente::internal

#endif  // PONIENTE_IO_READER_STATE_H_
