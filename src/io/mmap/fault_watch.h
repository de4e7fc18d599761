// SPDX-License-Identifier: Apache-2.0
// Counts the major faults of a thread: the pages that it had to wait for.

#ifndef PONIENTE_IO_MMAP_FAULT_WATCH_H_
#define PONIENTE_IO_MMAP_FAULT_WATCH_H_

#include <sys/resource.h>

#include <chrono>
#include <cstdint>

namespace poniente::internal {

// Returns the major faults of the calling thread so far.
inline uint64_t MajorFaults() {
  rusage usage;
  ::getrusage(RUSAGE_THREAD, &usage);
  return static_cast<uint64_t>(usage.ru_majflt);
}

// Counts them with few calls of the kernel. Pure: the caller passes the time
// and the function that asks the kernel.
//
// A call of the kernel costs as much as copying a kilobyte or two. For a batch
// of one window, two calls would be a twenty-fifth of all its work.
//
// Thread safety: as a value. Use one for each thread.
class FaultWatch {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;

  // `count` returns the major faults of the calling thread so far.
  explicit FaultWatch(uint64_t (*count)()) : count_(count) {}

  // Returns the faults before a batch that begins now. A count of up to kFresh
  // ago is taken for it: what else the thread has met since then counts as met
  // by the batch, but is too little to matter.
  uint64_t Begin(Time now) {
    return now - counted_at_ > kFresh ? Ask(now) : at_;
  }

  // Returns the faults so far, after copies of `bytes` bytes that took from
  // `began` until now. If they are few and took no longer than from memory,
  // none can have waited for a disk, and the last count is returned; what they
  // may have met nevertheless is in the next count.
  uint64_t After(uint64_t bytes, Time began, Time now) {
    return now - began <= LongestFromMemory(bytes) ? at_ : Ask(now);
  }

  // Returns the faults so far, as the kernel says.
  uint64_t Ask(Time now) {
    counted_at_ = now;
    return at_ = count_();
  }

 private:
  static constexpr Duration kFresh = std::chrono::microseconds(200);
  // Of more bytes, the call costs next to nothing.
  static constexpr uint64_t kFewBytes = uint64_t{128} << 10;

  // Less than a fault that reads from the fastest disks. Copies from memory
  // take half of it, or less.
  static Duration LongestFromMemory(uint64_t bytes) {
    if (bytes > kFewBytes) return Duration(-1);
    return std::chrono::microseconds(4) +
           std::chrono::nanoseconds(bytes / 5);  // 5 GB/s
  }

  uint64_t (*count_)();
  uint64_t at_ = 0;       // at the last count
  Time counted_at_ = {};  // long ago
};

}  // namespace poniente::internal

#endif  // PONIENTE_IO_MMAP_FAULT_WATCH_H_
