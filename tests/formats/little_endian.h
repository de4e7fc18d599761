// SPDX-License-Identifier: Apache-2.0
// Files as strings of bytes.

#ifndef PONIENTE_TESTS_FORMATS_LITTLE_ENDIAN_H_
#define PONIENTE_TESTS_FORMATS_LITTLE_ENDIAN_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/core/input_bytes.h"

namespace poniente::testing {

// The bytes of `value`, the least first.
template <class Integer>
std::string Little(Integer value) {
  std::string bytes;
  for (size_t i = 0; i < sizeof(value); ++i) {
    bytes += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
  }
  return bytes;
}

// The low `width` bytes of each id, moved by `shift`.
inline std::string LittleIds(const std::vector<uint32_t>& ids, size_t width,
                             uint64_t shift = 0) {
  std::string bytes;
  for (const uint32_t id : ids) bytes += Little(id + shift).substr(0, width);
  return bytes;
}

inline internal::MemoryBytes InMemory(std::string path,
                                      std::string_view bytes) {
  const auto view = std::as_bytes(std::span(bytes));
  return {std::move(path), {view.begin(), view.end()}};
}

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_FORMATS_LITTLE_ENDIAN_H_
