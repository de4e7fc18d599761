// SPDX-License-Identifier: Apache-2.0
#include "util/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>

namespace poniente::internal {

uint32_t ExtendCrc32c(uint32_t crc, std::span<const std::byte> bytes) {
  constexpr size_t kMostPerCall = size_t{1} << 30;  // ISA-L counts in int
  crc = ~crc;
  while (!bytes.empty()) {
    const size_t n = std::min(bytes.size(), kMostPerCall);
    // ISA-L's pointer is not const, but it only reads.
    auto* data =
        reinterpret_cast<unsigned char*>(const_cast<std::byte*>(bytes.data()));
    crc = crc32_iscsi(data, static_cast<int>(n), crc);
    bytes = bytes.subspan(n);
  }
  return ~crc;
}

}  // namespace poniente::internal
