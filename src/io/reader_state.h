// SPDX-License-Identifier: Apache-2.0
// What a ByteReader holds.

#ifndef PONIENTE_IO_READER_STATE_H_
#define PONIENTE_IO_READER_STATE_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "io/mapping.h"
#include "io/open_file.h"
#include "poniente/byte_reader.h"
#include "util/mutex.h"

namespace poniente::internal {

// ReadCounters for many threads. All accesses are relaxed: statistics, which
// publish nothing.
struct AtomicReadCounters {
  std::atomic<uint64_t> bytes_asked = 0;
  std::atomic<uint64_t> bytes_read = 0;
  std::atomic<uint64_t> reads = 0;
  std::atomic<uint64_t> submissions = 0;
  std::atomic<uint64_t> hits_at_submit = 0;
  std::atomic<uint64_t> fallback_reads = 0;
};

inline void Add(uint64_t count, std::atomic<uint64_t>* to) {
  to->fetch_add(count, std::memory_order_relaxed);
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
  // Constant after Open().
  std::vector<OpenFile> files;
  std::vector<Mapping> mappings;  // of each file for kMmap, else empty
  IoBackend backend = IoBackend::kAuto;
  // Any thread.
  OnceText fallback_reason;
  AtomicReadCounters counters;
};

struct ReaderAccess {
  static ReaderState& State(const ByteReader& reader) { return *reader.state_; }
};

}  // namespace poniente::internal

#endif  // PONIENTE_IO_READER_STATE_H_
