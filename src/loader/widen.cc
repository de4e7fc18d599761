// SPDX-License-Identifier: Apache-2.0
#include "loader/widen.h"

#include <algorithm>

#include "util/check.h"

namespace poniente::internal {
namespace {

// An Id at any address in a buffer of bytes, aligned or not.
template <class Id>
struct Unaligned {
  typedef Id Type __attribute__((aligned(1), may_alias));
};

// CMakeLists.txt compiles this file with -O3 because of the next two loops.
template <class From, class To>
uint64_t Copy(const std::byte* __restrict from, std::byte* __restrict to,
              size_t count) {
  const auto* ids =
      reinterpret_cast<const typename Unaligned<From>::Type*>(from);
  auto* wide = reinterpret_cast<typename Unaligned<To>::Type*>(to);
  From greatest = 0;
  for (size_t i = 0; i < count; ++i) {
    const From id = ids[i];
    greatest = std::max(greatest, id);
    wide[i] = static_cast<To>(id);
  }
  return greatest;
}

template <class From>
uint64_t Greatest(const std::byte* from, size_t count) {
  const auto* ids =
      reinterpret_cast<const typename Unaligned<From>::Type*>(from);
  From greatest = 0;
  for (size_t i = 0; i < count; ++i) {
    const From id = ids[i];  // a reference to it would have to be aligned
    greatest = std::max(greatest, id);
  }
  return greatest;
}

template <class From, class To>
uint64_t WidenAs(const std::byte* from, std::byte* to, size_t count) {
  if (from == to) return Greatest<From>(from, count);  // equal widths
  return Copy<From, To>(from, to, count);
}

template <class From>
uint64_t WidenFrom(const std::byte* from, TokenType type, std::byte* to,
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

uint64_t Widen(std::span<const std::byte> from, uint32_t from_bytes,
               TokenType type, std::span<std::byte> to) {
  const size_t count = from.size() / from_bytes;
  PONIENTE_CHECK(to.size() >= count * TokenTypeBytes(type))
      << count << " ids into " << to.size() << " bytes";
  switch (from_bytes) {
    case 1:
      return WidenFrom<uint8_t>(from.data(), type, to.data(), count);
    case 2:
      return WidenFrom<uint16_t>(from.data(), type, to.data(), count);
    case 4:
      return WidenFrom<uint32_t>(from.data(), type, to.data(), count);
    default:
      PONIENTE_CHECK(from_bytes == 8) << "ids of " << from_bytes << " bytes";
      return WidenFrom<uint64_t>(from.data(), type, to.data(), count);
  }
}

}  // namespace poniente::internal
