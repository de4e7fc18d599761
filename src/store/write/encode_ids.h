// SPDX-License-Identifier: Apache-2.0
// Encodes ids as a store holds them: little-endian, 1, 2 or 4 bytes each.

#ifndef PONIENTE_STORE_WRITE_ENCODE_IDS_H_
#define PONIENTE_STORE_WRITE_ENCODE_IDS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "util/byte_order.h"

namespace poniente::internal {

// Encodes the ids as values of type Stored.
template <class Stored, class Id>
void EncodeIdsAs(std::span<const Id> ids, std::byte* to) {
  if constexpr (sizeof(Stored) == sizeof(Id)) {
    if (!ids.empty()) std::memcpy(to, ids.data(), ids.size_bytes());
  } else {
    // Converts a fixed number at a time, so that compilers vectorise the loop.
    constexpr size_t kAtOnce = 64;
    size_t i = 0;
    for (; i + kAtOnce <= ids.size(); i += kAtOnce) {
      Stored stored[kAtOnce];
      for (size_t j = 0; j < kAtOnce; ++j) {
        stored[j] = static_cast<Stored>(ids[i + j]);
      }
      std::memcpy(to + i * sizeof(Stored), stored, sizeof stored);
    }
    for (; i < ids.size(); ++i) {
      StoreLittle(static_cast<Stored>(ids[i]), to + i * sizeof(Stored));
    }
  }
}

// Encodes the ids with `width` bytes each. REQUIRES: `to` has room for them,
// and every id fits the width.
template <class Id>
void EncodeIds(std::span<const Id> ids, uint32_t width, std::byte* to) {
  if (width == 1) return EncodeIdsAs<uint8_t>(ids, to);
  if (width == 2) return EncodeIdsAs<uint16_t>(ids, to);
  return EncodeIdsAs<uint32_t>(ids, to);
}

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_WRITE_ENCODE_IDS_H_
