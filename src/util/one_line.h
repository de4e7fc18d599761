// SPDX-License-Identifier: Apache-2.0
// Text from outside, safe to stand in a message of one line.

#ifndef PONIENTE_UTIL_ONE_LINE_H_
#define PONIENTE_UTIL_ONE_LINE_H_

#include <string>
#include <string_view>

namespace poniente::internal {

// With control characters written as escapes.
std::string OneLine(std::string_view text);

}  // namespace poniente::internal

#endif  // PONIENTE_UTIL_ONE_LINE_H_
