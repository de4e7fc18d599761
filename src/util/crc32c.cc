// SPDX-License-Identifier: Apache-2.0
#include "util/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <array>

namespace poniente::internal {
namespace {

// Polynomials over GF(2) modulo that of CRC32C, lowest power in the highest
// bit.
constexpr uint32_t kModulus = 0x82f63b78;
constexpr uint32_t kOne = uint32_t{1} << 31;
constexpr uint32_t kX8 = kOne >> 8;

constexpr uint32_t Multiply(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (uint32_t power = kOne; power != 0; power >>= 1) {
    if ((a & power) != 0) product ^= b;
    b = (b & 1) != 0 ? (b >> 1) ^ kModulus : b >> 1;
  }
  return product;
}

// x^(8 2^k) for each k.
constexpr std::array<uint32_t, 64> Squares() {
  std::array<uint32_t, 64> squares = {};
  uint32_t square = kX8;
  for (uint32_t& one : squares) {
    one = square;
    square = Multiply(square, square);
  }
  return squares;
}
constexpr std::array<uint32_t, 64> kSquares = Squares();

}  // namespace

uint32_t ExtendCrc32c(uint32_t crc, std::span<const std::byte> bytes) {
  constexpr size_t kMaxPerCall = size_t{1} << 30;  // ISA-L counts in int
  crc = ~crc;
  while (!bytes.empty()) {
    const size_t n = std::min(bytes.size(), kMaxPerCall);
    // ISA-L's pointer is not const, but it only reads.
    auto* data =
        reinterpret_cast<unsigned char*>(const_cast<std::byte*>(bytes.data()));
    crc = crc32_iscsi(data, static_cast<int>(n), crc);
    bytes = bytes.subspan(n);
  }
  return ~crc;
}

uint32_t CombineCrc32c(uint32_t first, uint32_t second, uint64_t second_bytes) {
  // `second_bytes` bytes after it multiply a checksum by x^(8 second_bytes).
  uint32_t shift = kOne;
  for (size_t k = 0; second_bytes != 0; ++k, second_bytes >>= 1) {
    if ((second_bytes & 1) != 0) shift = Multiply(shift, kSquares[k]);
  }
  return Multiply(shift, first) ^ second;
}

}  // namespace poniente::internal
