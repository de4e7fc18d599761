// SPDX-License-Identifier: Apache-2.0
// Text from outside, safe to stand in a message of one line.

#ifndef PONIENTE_UTIL_ONE_LINE_H_
#define PONIENTE_UTIL_ONE_LINE_H_

#include <string>
#include <string_view>

namespace poniente::internal {

// With all that a terminal would act upon written as escapes: control
// characters of ASCII (\n, \x1b) and of Unicode, marks that turn the direction
// of text or break lines (\u202e), and bytes that are no UTF-8 (\x9b).
std::string OneLine(std::string_view text);

}  // namespace poniente::internal

#endif  // PONIENTE_UTIL_ONE_LINE_H_
