// SPDX-License-Identifier: Apache-2.0
// NumPy's array files, byte for byte.

#ifndef PONIENTE_TESTS_FORMATS_NPY_FILES_H_
#define PONIENTE_TESTS_FORMATS_NPY_FILES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace poniente::testing {

// `width` bytes of each, the least first.
inline std::string LittleBytes(const std::vector<uint64_t>& values,
                               size_t width) {
  std::string bytes;
  for (const uint64_t value : values) {
    for (size_t i = 0; i < width; ++i) {
      bytes += static_cast<char>(value >> (8 * i) & 0xff);
    }
  }
  return bytes;
}

struct NpyFile {
  int version = 1;
  std::string type = "<u2";
  std::string shape = "(3,)";
  std::string order = "False";
  // The data begins at a multiple of it: 64 since NumPy 1.14, 16 before, 1 by
  // some other writers.
  size_t alignment = 64;
  std::string data;
  // Instead of what the above makes, if not empty.
  std::string dictionary;

  std::string Bytes() const {
    std::string head = "\x93NUMPY";
    head += static_cast<char>(version);
    head += '\0';
    std::string text = dictionary;
    if (text.empty()) {
      text = "{'descr': '" + type + "', 'fortran_order': " + order +
             ", 'shape': " + shape + ", }";
    }
    const size_t length_bytes = version == 1 ? 2 : 4;
    const size_t before = head.size() + length_bytes;
    while ((before + text.size() + 1) % alignment != 0) text += ' ';
    text += '\n';
    return head + LittleBytes({text.size()}, length_bytes) + text + data;
  }
};

// As numpy.save writes a list of them, for example "<u2".
inline NpyFile NpyOf(const std::string& type,
                     const std::vector<uint64_t>& values) {
  NpyFile file;
  file.type = type;
  file.shape = "(" + std::to_string(values.size()) + ",)";
  file.data = LittleBytes(values, static_cast<size_t>(type.back() - '0'));
  return file;
}

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_FORMATS_NPY_FILES_H_
