// SPDX-License-Identifier: Apache-2.0
// Arrays of bits as files have them: bit i is bit i % 8 of byte i / 8.

#ifndef PONIENTE_UTIL_BITS_H_
#define PONIENTE_UTIL_BITS_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace poniente::internal {

// Sets each byte of `to` to a bit of `from`, 0 or 1, from bit `first` on.
inline void UnpackBits(const std::byte* from, uint64_t first,
                       std::span<uint8_t> to) {
  for (size_t i = 0; i < to.size(); ++i) {
    const uint64_t bit = first + i;
    to[i] = (std::to_integer<unsigned>(from[bit / 8]) >> (bit % 8)) & 1;
  }
}

}  // namespace poniente::internal

#endif  // PONIENTE_UTIL_BITS_H_
