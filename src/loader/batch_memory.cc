// SPDX-License-Identifier: Apache-2.0
#include "loader/batch_memory.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <new>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "util/mutex.h"

namespace poniente::internal {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kMaxKept = 16;
constexpr size_t kMaxKeptBytes = size_t{256} << 20;

// Never destroyed: batches may outlive the end of main().
struct Kept {
  Mutex mutex;
  std::deque<ReadBuffer> buffers ABSL_GUARDED_BY(mutex);  // the oldest first
  size_t bytes ABSL_GUARDED_BY(mutex) = 0;

  ReadBuffer Remove(std::deque<ReadBuffer>::iterator which)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    ReadBuffer removed = std::move(*which);
    buffers.erase(which);
    bytes -= removed.bytes().size();
    return removed;
  }
};

Kept& TheKept() {
  static auto* const kept = new Kept;
  return *kept;
}

// One of exactly this size; empty if none.
ReadBuffer FindKept(size_t bytes) {
  Kept& kept = TheKept();
  MutexLock lock(&kept.mutex);
  const auto found = std::find_if(
      kept.buffers.begin(), kept.buffers.end(),
      [bytes](const ReadBuffer& one) { return one.bytes().size() == bytes; });
  return found == kept.buffers.end() ? ReadBuffer() : kept.Remove(found);
}

// Keeps it; what has to make room for it.
std::deque<ReadBuffer> Keep(ReadBuffer memory) {
  std::deque<ReadBuffer> dropped;
  Kept& kept = TheKept();
  MutexLock lock(&kept.mutex);
  kept.bytes += memory.bytes().size();
  kept.buffers.push_back(std::move(memory));
  while (kept.buffers.size() > kMaxKept || kept.bytes > kMaxKeptBytes) {
    dropped.push_back(kept.Remove(kept.buffers.begin()));
  }
  return dropped;
}

}  // namespace

ReadBuffer TakeBatchMemory(size_t bytes) {
  if (bytes == 0) return ReadBuffer();
  if (bytes > SIZE_MAX - kPageBytes) throw std::bad_alloc();
  const size_t pages = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  ReadBuffer memory = FindKept(pages);
  if (!memory.bytes().empty()) return memory;
  absl::StatusOr<ReadBuffer> made = ReadBuffer::Allocate(pages);
  if (!made.ok()) throw std::bad_alloc();
  return *std::move(made);
}

void ReturnBatchMemory(ReadBuffer memory) {
  if (memory.bytes().empty()) return;
  // Freed without the lock: rings are asked to let go of it.
  const std::deque<ReadBuffer> dropped = Keep(std::move(memory));
}

}  // namespace poniente::internal
