// SPDX-License-Identifier: Apache-2.0
#include "store/write/loss_bits.h"

#include <cstddef>

namespace poniente::internal {

void LossBits::Append(uint64_t count, bool has_loss) {
  if (count == 0) return;
  const uint64_t begin = size_;
  size_ += count;
  bytes_.resize(static_cast<size_t>((size_ + 7) / 8), has_loss ? 0xff : 0);
  if (!has_loss) return;
  // The rest of the byte that was begun, and what is too much in the last.
  if (begin % 8 != 0) {
    bytes_[begin / 8] |= static_cast<uint8_t>(0xff << (begin % 8));
  }
  if (size_ % 8 != 0) {
    bytes_.back() &= static_cast<uint8_t>((1 << (size_ % 8)) - 1);
  }
}

void LossBits::Append(std::span<const uint8_t> has_loss) {
  bytes_.resize(static_cast<size_t>((size_ + has_loss.size() + 7) / 8));
  for (const uint8_t one : has_loss) {
    bytes_[size_ / 8] |=
        static_cast<uint8_t>((one != 0 ? 1 : 0) << (size_ % 8));
    ++size_;
  }
}

void LossBits::Clear() {
  bytes_.clear();
  size_ = 0;
}

}  // namespace poniente::internal
