// SPDX-License-Identifier: Apache-2.0
#include "loader/widen.h"

#include <algorithm>
#include <cstring>

#include "util/check.h"

namespace poniente::internal {
namespace {

template <class From, class To>
uint32_t WidenAs(const std::byte* from, std::byte* to, size_t count) {
  uint32_t greatest = 0;
  for (size_t i = 0; i < count; ++i) {
    From id;
    std::memcpy(&id, from + i * sizeof(From), sizeof(From));
    greatest = std::max<uint32_t>(greatest, id);
    const To wide = static_cast<To>(id);
    std::memcpy(to + i * sizeof(To), &wide, sizeof(To));
  }
  return greatest;
}

template <class From>
uint32_t WidenFrom(const std::byte* from, TokenType type, std::byte* to,
                   size_t count) {
  switch (type) {
    case TokenType::kU8:
      return WidenAs<From, uint8_t>(from, to, count);
    case TokenType::kU16:
      return WidenAs<From, uint16_t>(from, to, count);
    case TokenType::kU32:
    case TokenType::kI32:
      return WidenAs<From, uint32_t>(from, to, count);
    case TokenType::kI64:
      return WidenAs<From, uint64_t>(from, to, count);
  }
  return 0;
}

}  // namespace

uint32_t Widen(std::span<const std::byte> from, uint32_t from_bytes,
               TokenType type, std::span<std::byte> to) {
  const size_t count = from.size() / from_bytes;
  PONIENTE_CHECK(to.size() >= count * TokenTypeBytes(type))
      << count << " ids into " << to.size() << " bytes";
  switch (from_bytes) {
    case 1:
      return WidenFrom<uint8_t>(from.data(), type, to.data(), count);
    case 2:
      return WidenFrom<uint16_t>(from.data(), type, to.data(), count);
    default:
      PONIENTE_CHECK(from_bytes == 4) << "ids of " << from_bytes << " bytes";
      return WidenFrom<uint32_t>(from.data(), type, to.data(), count);
  }
}

}  // namespace poniente::internal
