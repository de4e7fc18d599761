// SPDX-License-Identifier: Apache-2.0
// How much memory the process keeps for what it could read again.

#ifndef PONIENTE_IO_MEMORY_BUDGET_H_
#define PONIENTE_IO_MEMORY_BUDGET_H_

#include <atomic>
#include <cstdint>

namespace poniente::internal {

// A number of bytes that all users of one kind take from together: a sixteenth
// of the memory that is available at the first call, and at least 64 MiB.
//
// Thread safety: any number of threads. Only counts, so all accesses are
//     relaxed.
class MemoryBudget {
 public:
  // Returns whether `bytes` more would be within the budget.
  bool HasRoomFor(uint64_t bytes) const {
    return taken_.load(std::memory_order_relaxed) + bytes <= Limit();
  }
  // Takes bytes from the budget. Returns false, and takes none, if it has not
  // as many left.
  bool Take(uint64_t bytes) {
    if (taken_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= Limit()) {
      return true;
    }
    Return(bytes);
    return false;
  }
  // Takes bytes, beyond the budget if need be.
  void TakeAnyway(uint64_t bytes) {
    taken_.fetch_add(bytes, std::memory_order_relaxed);
  }
  void Return(uint64_t bytes) {
    taken_.fetch_sub(bytes, std::memory_order_relaxed);
  }

  // Tests may set less. 0: the default.
  void SetLimit(uint64_t bytes) {
    limit_.store(bytes, std::memory_order_relaxed);
  }

 private:
  uint64_t Limit() const;

  std::atomic<uint64_t> taken_ = 0;
  std::atomic<uint64_t> limit_ = 0;
};

}  // namespace poniente::internal

#endif  // PONIENTE_IO_MEMORY_BUDGET_H_
