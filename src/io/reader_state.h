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
#include "io/direct_file.h"
#include "io/lazily_made.h"
#include "io/mapping.h"
#include "io/open_file.h"
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

  // Opens all files, and sets all that is constant.
  absl::Status Open(std::vector<ByteFile> wanted,
                    const ByteReaderOptions& reader_options);

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

  // Null if there is nothing to verify.
  const FileChecksums* ChecksumsOf(uint32_t file) const {
    return checksums.empty() ? nullptr : checksums[file].get();
  }
  AtomicBackendCounters& CountersOf(IoBackend of);

  // Constant after Open().
  ByteReaderOptions options;
  std::vector<OpenFile> files;
  // Of each file, null for one that has none; empty if none is to be verified.
  std::vector<std::unique_ptr<const FileChecksums>> checksums;
  // Never kAuto. With a policy: kBuffered or kPread, what serves where the
  // policy says kBuffered.
  IoBackend backend = IoBackend::kBuffered;
  std::shared_ptr<BackendPolicy> policy;  // null unless it adapts
  bool shares_policy = false;             // with other small readers
  uint64_t counted_bytes = 0;             // of the process's auto readers

  // Any thread.
  Mutex making;
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
  absl::Status OpenFiles(std::vector<ByteFile> wanted);
  void Adapt();
  void ProbeDirect();
  absl::Status EnsureMapped(uint32_t file);
  bool FitsCache() const;
};

struct ReaderAccess {
  static ReaderState& State(const ByteReader& reader) { return *reader.state_; }
};

}  // namespace poniente::internal

#endif  // PONIENTE_IO_READER_STATE_H_
