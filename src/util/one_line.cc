// SPDX-License-Identifier: Apache-2.0
#include "util/one_line.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "util/utf8.h"

namespace poniente::internal {
namespace {

bool IsActedUpon(uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code <= 0x9f) ||  // controls
         code == 0x61c || code == 0x200e || code == 0x200f ||
         (code >= 0x2028 && code <= 0x202e) ||  // lines, directions
         (code >= 0x2066 && code <= 0x2069);
}

}  // namespace

std::string OneLine(std::string_view text) {
  std::string line;
  while (!text.empty()) {
    const Utf8Character first = FirstCharacter(text);
    if (first.bytes == 0 || (first.bytes == 1 && IsActedUpon(first.code))) {
      const auto byte = static_cast<unsigned char>(text[0]);
      absl::StrAppend(&line, byte == '\n' ? "\\n" : "\\x");
      if (byte != '\n') {
        absl::StrAppend(&line, absl::Hex(byte, absl::kZeroPad2));
      }
      text.remove_prefix(1);
      continue;
    }
    if (IsActedUpon(first.code)) {
      absl::StrAppend(&line, "\\u", absl::Hex(first.code, absl::kZeroPad4));
    } else {
      line.append(text.substr(0, first.bytes));
    }
    text.remove_prefix(first.bytes);
  }
  return line;
}

}  // namespace poniente::internal
