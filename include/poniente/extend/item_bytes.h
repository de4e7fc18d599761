// SPDX-License-Identifier: Apache-2.0
// How much memory an item takes.

#ifndef PONIENTE_EXTEND_ITEM_BYTES_H_
#define PONIENTE_EXTEND_ITEM_BYTES_H_

#include <cstdint>
#include <functional>
#include <ranges>
#include <type_traits>

#include "poniente/token_window.h"

namespace poniente::internal {

// Returns a function that returns the bytes of a T, with what it owns; null if
// they are not known. They are known for types that memcpy can copy, for
// strings and vectors of these, and for TokenWindow.
template <class T>
std::function<uint64_t(const T&)> DefaultBytesOf() {
  if constexpr (std::is_same_v<T, TokenWindow>) {
    return [](const TokenWindow& item) {
      return sizeof(item) + item.tokens.size() * sizeof(uint32_t);
    };
  } else if constexpr (std::is_trivially_copyable_v<T>) {
    return [](const T&) { return sizeof(T); };
  } else if constexpr (std::ranges::contiguous_range<const T>) {
    using Element = std::ranges::range_value_t<const T>;
    if constexpr (std::is_trivially_copyable_v<Element>) {
      return [](const T& item) {
        return sizeof(T) + std::ranges::size(item) * sizeof(Element);
      };
    }
  }
  return nullptr;
}

}  // namespace poniente::internal

#endif  // PONIENTE_EXTEND_ITEM_BYTES_H_
