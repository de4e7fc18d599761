// SPDX-License-Identifier: Apache-2.0
// Memory for data that cannot be read directly into its place: blocks to be
// verified, and the sectors around an unaligned request.

#ifndef PONIENTE_IO_SCRATCH_H_
#define PONIENTE_IO_SCRATCH_H_

#include <cstddef>
#include <utility>

#include "absl/status/statusor.h"

namespace poniente::internal {

inline constexpr size_t kScratchBytes = size_t{64} << 20;

// Page-aligned address space of capacity() bytes; only the used part takes
// memory. On destruction it returns to a pool of the process, which keeps up to
// 4 MiB of the used memory.
class Scratch {
 public:
  // Returns scratch memory of at least `bytes`; ResourceExhausted if there is
  // none.
  static absl::StatusOr<Scratch> Take(size_t bytes);

  Scratch() = default;
  Scratch(Scratch&& other) noexcept { *this = std::move(other); }
  Scratch& operator=(Scratch&& other) noexcept {
    std::swap(begin_, other.begin_);
    std::swap(capacity_, other.capacity_);
    std::swap(used_, other.used_);
    return *this;
  }
  ~Scratch();

  size_t capacity() const { return capacity_; }
  size_t used() const { return used_; }

  // Returns the next `bytes`, from a multiple of 4096 on. REQUIRES: they fit.
  std::byte* Add(size_t bytes);
  // Extends the last addition by `bytes`. REQUIRES: they fit.
  void Extend(size_t bytes) { used_ += bytes; }

 private:
  std::byte* begin_ = nullptr;
  size_t capacity_ = 0;
  size_t used_ = 0;
};

}  // namespace poniente::internal

#endif  // PONIENTE_IO_SCRATCH_H_
