// SPDX-License-Identifier: Apache-2.0
// CRC32C (Castagnoli), as in RFC 3720, by ISA-L's hardware routines.

#ifndef PONIENTE_UTIL_CRC32C_H_
#define PONIENTE_UTIL_CRC32C_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace poniente::internal {

// Returns the checksum of the bytes with checksum `crc` followed by `bytes`.
// For no bytes, `crc` is 0.
uint32_t ExtendCrc32c(uint32_t crc, std::span<const std::byte> bytes);

inline uint32_t Crc32c(std::span<const std::byte> bytes) {
  return ExtendCrc32c(0, bytes);
}

// Returns the checksum of bytes with checksum `first` followed by
// `second_bytes` bytes with checksum `second`, without reading them. Takes
// about a microsecond.
uint32_t CombineCrc32c(uint32_t first, uint32_t second, uint64_t second_bytes);

}  // namespace poniente::internal

#endif  // PONIENTE_UTIL_CRC32C_H_
