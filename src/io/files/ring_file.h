// SPDX-License-Identifier: Apache-2.0
// A descriptor that rings may hold as a registered file.

#ifndef PONIENTE_IO_FILES_RING_FILE_H_
#define PONIENTE_IO_FILES_RING_FILE_H_

#include <atomic>
#include <cstdint>
#include <utility>

namespace poniente::internal {

// Owns the descriptor. The destructor closes it, after every ring has released
// it.
class RingFile {
 public:
  explicit RingFile(int fd) : fd_(fd), id_(NextId()) {}
  RingFile(RingFile&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)),
        id_(other.id_),
        in_ring_(other.in_ring_.load(std::memory_order_relaxed)) {}
  RingFile& operator=(RingFile&&) = delete;
  ~RingFile();

  // Closes the descriptor, which is -1 from now on. REQUIRES: no ring has
  // registered it.
  void Close();

  int fd() const { return fd_; }
  // Returns a number that is never used twice in a process, unlike a
  // descriptor.
  uint64_t id() const { return id_; }
  // Records that a ring has registered the file.
  void SetInRing() const { in_ring_.store(true, std::memory_order_relaxed); }

 private:
  static uint64_t NextId() {
    static std::atomic<uint64_t> last = 0;
    return 1 + last.fetch_add(1, std::memory_order_relaxed);
  }

  int fd_;
  uint64_t id_;
  // Relaxed: the file is destroyed after all reads of it, by happens-before.
  mutable std::atomic<bool> in_ring_ = false;
};

}  // namespace poniente::internal

#endif  // PONIENTE_IO_FILES_RING_FILE_H_
