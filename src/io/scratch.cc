// SPDX-License-Identifier: Apache-2.0
#include "io/scratch.h"

#include <sys/mman.h>

#include <algorithm>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "io/buffer_memory.h"
#include "util/memory_sizes.h"
#include "util/mutex.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr size_t kKeptBytes = size_t{4} << 20;  // of each area
constexpr size_t kKept = 16;

// Scratch areas for reuse. Never destroyed: batches may outlive the end of
// main().
struct Pool {
  Mutex mutex;
  std::vector<std::byte*> free ABSL_GUARDED_BY(mutex);  // of kScratchBytes
};

Pool& ThePool() {
  static auto* const pool = new Pool;
  return *pool;
}

std::byte* TakeFree() {
  Pool& pool = ThePool();
  MutexLock lock(&pool.mutex);
  if (pool.free.empty()) return nullptr;
  std::byte* const begin = pool.free.back();
  pool.free.pop_back();
  return begin;
}

}  // namespace

absl::StatusOr<Scratch> Scratch::Take(size_t bytes) {
  const size_t capacity = std::max(bytes, kScratchBytes);
  std::byte* begin = capacity == kScratchBytes ? TakeFree() : nullptr;
  if (begin == nullptr) {
    PONIENTE_ASSIGN_OR_RETURN(begin, MapMemory(capacity));
  }
  Scratch scratch;
  scratch.begin_ = begin;
  scratch.capacity_ = capacity;
  return scratch;
}

std::byte* Scratch::Add(size_t bytes) {
  used_ = (used_ + kPageBytes - 1) / kPageBytes * kPageBytes;
  std::byte* const place = begin_ + used_;
  used_ += bytes;
  return place;
}

Scratch::~Scratch() {
  if (begin_ == nullptr) return;
  if (capacity_ == kScratchBytes) {
    if (used_ > kKeptBytes) {
      (void)::madvise(begin_ + kKeptBytes, capacity_ - kKeptBytes,
                      MADV_DONTNEED);
    }
    Pool& pool = ThePool();
    MutexLock lock(&pool.mutex);
    if (pool.free.size() < kKept) {
      pool.free.push_back(begin_);
      return;
    }
  }
  ::munmap(begin_, capacity_);
}

}  // namespace poniente::internal
