// SPDX-License-Identifier: Apache-2.0
// Integers above 2^63 - 1, where those of TOML end, in the text of a run that
// was described in C++.

#ifndef PONIENTE_CONFIG_PARSE_GREAT_INTEGER_H_
#define PONIENTE_CONFIG_PARSE_GREAT_INTEGER_H_

#include <optional>
#include <string_view>

namespace poniente::internal {

// What a text that stands for such an integer begins with; its digits follow.
// Nobody would write it.
inline constexpr std::string_view kGreatInteger = "\x01integer ";

// Returns the digits if this text stands for such an integer.
inline std::optional<std::string_view> GreatInteger(std::string_view text) {
  if (!text.starts_with(kGreatInteger)) return std::nullopt;
  return text.substr(kGreatInteger.size());
}

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_PARSE_GREAT_INTEGER_H_
