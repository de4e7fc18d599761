// SPDX-License-Identifier: Apache-2.0
#include "util/one_line.h"

#include "absl/strings/str_cat.h"

namespace poniente::internal {

std::string OneLine(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      line += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      line += absl::StrCat("\\x", absl::Hex(byte, absl::kZeroPad2));
    } else {
      line += c;
    }
  }
  return line;
}

}  // namespace poniente::internal
