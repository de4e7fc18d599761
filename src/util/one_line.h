// SPDX-License-Identifier: Apache-2.0
// Text from outside, made safe for a message of one line.

#ifndef PONIENTE_UTIL_ONE_LINE_H_
#define PONIENTE_UTIL_ONE_LINE_H_

#include <string>
#include <string_view>

namespace poniente::internal {

// Returns the text with everything that a terminal would act on written as
// escapes: control characters of ASCII (\n, \x1b) and of Unicode, marks that
// change the direction of text or break lines (\u202e), and bytes that are not
// UTF-8 (\x9b).
std::string OneLine(std::string_view text);

}  // namespace poniente::internal

#endif  // PONIENTE_UTIL_ONE_LINE_H_
