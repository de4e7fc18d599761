// SPDX-License-Identifier: Apache-2.0
// Little-endian loads and stores at any alignment.

#ifndef PONIENTE_UTIL_BYTE_ORDER_H_
#define PONIENTE_UTIL_BYTE_ORDER_H_

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace poniente::internal {

static_assert(std::endian::native == std::endian::little,
              "token ids are read in place; a big-endian machine would need "
              "to swap them");

template <std::unsigned_integral U>
U LoadLittle(const void* from) {
  U value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

template <std::unsigned_integral U>
void StoreLittle(U value, void* to) {
  std::memcpy(to, &value, sizeof(value));
}

}  // namespace poniente::internal

#endif  // PONIENTE_UTIL_BYTE_ORDER_H_
