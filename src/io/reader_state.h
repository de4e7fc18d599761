// SPDX-License-Identifier: Apache-2.0
// What a ByteReader holds.

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

// BackendCounters for many threads. All accesses are relaxed: statistics, which
// publish nothing.
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

// A text that is written once, at any time, and read by reference.
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

  // Opens all files that are not left for later, and sets all that is constant.
  absl::Status Open(std::vector<ByteFile> wanted,
                    const ByteReaderOptions& reader_options);

  const std::string& path(uint32_t file) const {
    return later.empty() ? files[file].get()->path() : later[file].path;
  }
  uint64_t size(uint32_t file) const {
    const OpenFile* const open = files[file].get();
    return open != nullptr ? open->size() : later[file].expected->bytes;
  }
  // REQUIRES: it is open.
  const OpenFile& opened(uint32_t file) const { return *files[file].get(); }
  // Opens it if that was left for later.
  absl::Status EnsureOpen(uint32_t file) {
    return files[file].get() != nullptr ? absl::OkStatus() : OpenLater(file);
  }

  // What to read this reader's part of the next batch by.
  IoBackend Next();
  // The same without counting.
  IoBackend Now() const;
  // Opens or maps the file as `wanted` needs it. What to read it by: the next
  // best where that fails.
  IoBackend Prepare(IoBackend wanted, uint32_t file);
  // After a batch through the cache, of whose `reads` `hits` were there; after
  // one of copies, which met major faults.
  void ReportBuffered(uint64_t reads, uint64_t hits);
  void ReportMapped(uint64_t reads, uint64_t faults);

  // For good: the file system, or a limit, does not let us read so.
  void RefuseDirect(std::string_view why);
  void SetFallback(IoBackend from, IoBackend to, std::string_view why);

  // Null if there is nothing to verify. REQUIRES: the file is open.
  const FileChecksums* ChecksumsOf(uint32_t file) const {
    return checksums.empty() ? nullptr : checksums[file].get();
  }
  AtomicBackendCounters& CountersOf(IoBackend of);
  // Null unless it adapts, and until a file is open.
  BackendPolicy* policy() const {
    return policy_.load(std::memory_order_acquire);
  }

  // Constant after Open().
  ByteReaderOptions options;
  size_t num_files = 0;
  // As asked for, of a reader that opens files later; else empty.
  std::vector<ByteFile> later;
  // Never kAuto. With a policy: kBuffered or kPread, what serves where the
  // policy says kBuffered.
  IoBackend backend = IoBackend::kBuffered;
  bool shares_policy = false;  // with other small readers
  uint64_t counted_bytes = 0;  // of the process's auto readers

  // Any thread.
  Mutex making;
  std::unique_ptr<LazilyMade<OpenFile>[]> files;
  // Of each file, null for one that has none; empty if none is to be verified.
  // Set under `making` before the file is; constant from then on.
  std::vector<std::unique_ptr<const FileChecksums>> checksums;
  std::unique_ptr<LazilyMade<DirectFile>[]> direct;  // per file
  std::unique_ptr<LazilyMade<Mapping>[]> mappings;   // per file
  // Relaxed: one attempt too many is refused again.
  std::atomic<bool> refuses_direct = false;
  std::atomic<bool> refuses_mapping = false;
  // Batches of copies in succession without a major fault.
  std::atomic<int> calm_batches = 0;
  OnceText fallback_reason;
  AtomicBackendCounters counters[4];  // by CountersOf()
  std::atomic<uint64_t> blocks_verified = 0;

 private:
  absl::Status ChooseBackend();
  absl::Status OpenLater(uint32_t file);
  // Opens it, and makes what belongs to it.
  absl::StatusOr<OpenFile> OpenNow(uint32_t file, const ByteFile& wanted)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(making);
  // Learns from the first file that is opened, or from none, what its file
  // system can do.
  void LookAround(const OpenFile* first) ABSL_EXCLUSIVE_LOCKS_REQUIRED(making);
  void Adapt();
  absl::Status EnsureMapped(uint32_t file);
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
