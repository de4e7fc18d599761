// SPDX-License-Identifier: Apache-2.0
#include "util/one_line.h"

#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace poniente::internal {
namespace {

// A character and the number of its bytes in UTF-8. 0 bytes: not UTF-8.
struct Utf8Character {
  uint32_t code = 0;
  size_t bytes = 0;
};

Utf8Character FirstOf(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {lead, 1};
  const size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  uint32_t code = lead & (0x7fu >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0) != 0x80) return {};
    code = code << 6 | (next & 0x3f);
  }
  // Overlong encodings, surrogates, and codes beyond Unicode.
  const uint32_t least = bytes == 4 ? 0x10000 : bytes == 3 ? 0x800 : 0x80;
  const bool is_half = code >= 0xd800 && code <= 0xdfff;
  if (code < least || is_half || code > 0x10ffff) return {};
  return {code, bytes};
}

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
    const Utf8Character first = FirstOf(text);
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
