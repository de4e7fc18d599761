// SPDX-License-Identifier: Apache-2.0
// CRC32C (Castagnoli), as in RFC 3720, by ISA-L's hardware routines.

#ifndef PONIENTE_UTIL_CRC32C_H_
#define PONIENTE_UTIL_CRC32C_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace poniente::internal {

// Returns the checksum of the bytes that `crc` covers followed by `bytes`; 0
// covers nothing.
uint32_t ExtendCrc32c(uint32_t crc, std::span<const std::byte> bytes);

inline uint32_t Crc32c(std::span<const std::byte> bytes) {
  return ExtendCrc32c(0, bytes);
}

// Returns the checksum of the bytes that `first` covers followed by the
// `second_bytes` bytes that `second` covers, without reading either. Costs
// about a microsecond.
uint32_t CombineCrc32c(uint32_t first, uint32_t second, uint64_t second_bytes);

}  // namespace poniente::internal

#endif  // PONIENTE_UTIL_CRC32C_H_
