// SPDX-License-Identifier: Apache-2.0
// UTF-8 as Unicode defines it: no overlong encodings, no surrogates, and no
// codes beyond U+10FFFF.

#ifndef PONIENTE_UTIL_UTF8_H_
#define PONIENTE_UTIL_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace poniente::internal {

// A character and the number of its bytes in UTF-8. 0 bytes: not UTF-8.
struct Utf8Character {
  uint32_t code = 0;
  size_t bytes = 0;
};

// Returns the character that the text begins with. REQUIRES: not empty.
Utf8Character FirstCharacter(std::string_view text);

bool IsUtf8(std::string_view text);

}  // namespace poniente::internal

#endif  // PONIENTE_UTIL_UTF8_H_
