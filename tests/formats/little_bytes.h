// SPDX-License-Identifier: Apache-2.0
// Little-endian integers as bytes of a file.

#ifndef PONIENTE_TESTS_FORMATS_LITTLE_BYTES_H_
#define PONIENTE_TESTS_FORMATS_LITTLE_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace poniente::testing {

template <class T>
void AppendLittle(T value, std::string* to) {
  for (size_t i = 0; i < sizeof(T); ++i) {
    to->push_back(static_cast<char>(static_cast<uint64_t>(value) >> 8 * i));
  }
}

template <class T>
std::string Little(const std::vector<T>& values) {
  std::string bytes;
  for (const T value : values) AppendLittle(value, &bytes);
  return bytes;
}

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_FORMATS_LITTLE_BYTES_H_
