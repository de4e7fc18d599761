// SPDX-License-Identifier: Apache-2.0
// Arrays of bits as files have them: bit i is bit i % 8 of byte i / 8.

#ifndef PONIENTE_UTIL_BITS_H_
#define PONIENTE_UTIL_BITS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace poniente::internal {

// Sets each byte of `to` to a bit of `from`, 0 or 1, from bit `first` on.
inline void UnpackBits(const std::byte* from, uint64_t first,
                       std::span<uint8_t> to) {
  size_t i = 0;
  const auto unpack_to = [&](size_t end) {
    for (; i < end; ++i) {
      const uint64_t bit = first + i;
      to[i] = (std::to_integer<unsigned>(from[bit / 8]) >> (bit % 8)) & 1;
    }
  };
  // To the first whole byte, then eight bits at a time.
  unpack_to(std::min<size_t>(to.size(), (8 - first % 8) % 8));
  for (; to.size() - i >= 8; i += 8) {
    const auto byte = std::to_integer<uint64_t>(from[(first + i) / 8]);
    // Byte k of the word keeps bit k alone. Adding 0x7f sets the top bit of
    // each byte that is not 0.
    const uint64_t kept = (byte * 0x0101010101010101) & 0x8040201008040201;
    const uint64_t bits =
        ((kept + 0x7f7f7f7f7f7f7f7f) >> 7) & 0x0101010101010101;
    // Little-endian, as all files are.
    std::memcpy(&to[i], &bits, sizeof(bits));
  }
  unpack_to(to.size());
}

}  // namespace poniente::internal

#endif  // PONIENTE_UTIL_BITS_H_
