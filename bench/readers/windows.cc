// SPDX-License-Identifier: Apache-2.0
#include "bench/readers/windows.h"

#include <algorithm>
#include <random>

namespace poniente::bench {

WindowOrder::WindowOrder(uint64_t file_bytes)
    : offsets_(file_bytes / kWindowBytes) {
  for (size_t i = 0; i < offsets_.size(); ++i) offsets_[i] = i * kWindowBytes;
  std::shuffle(offsets_.begin(), offsets_.end(), std::mt19937_64(file_bytes));
}

std::vector<uint64_t> WindowOrder::Upcoming(size_t windows) const {
  std::vector<uint64_t> upcoming(windows);
  size_t at = next_;
  for (uint64_t& offset : upcoming) {
    offset = offsets_[at];
    at = at + 1 < offsets_.size() ? at + 1 : 0;
  }
  return upcoming;
}

}  // namespace poniente::bench
