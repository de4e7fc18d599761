// SPDX-License-Identifier: Apache-2.0
#include "tests/io/proven_bytes.h"

namespace poniente::testing {

std::byte ProvenByte(uint64_t file, uint64_t offset) {
  uint64_t x = (file << 48) ^ offset;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return static_cast<std::byte>((x >> 32) % 255 + 1);
}

void FillProven(uint64_t file, uint64_t offset, std::span<std::byte> into) {
  for (std::byte& byte : into) byte = ProvenByte(file, offset++);
}

std::optional<size_t> FirstUnproven(uint64_t file, uint64_t offset,
                                    std::span<const std::byte> bytes) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != ProvenByte(file, offset + i)) return i;
  }
  return std::nullopt;
}

uint32_t SlowCrc32c(std::span<const std::byte> bytes) {
  uint32_t crc = 0xffffffff;
  for (const std::byte byte : bytes) {
    crc ^= static_cast<uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78 : 0);
    }
  }
  return ~crc;
}

}  // namespace poniente::testing
