// SPDX-License-Identifier: Apache-2.0
// Makes text from outside safe for messages of one line.

#ifndef PONIENTE_UTIL_ONE_LINE_H_
#define PONIENTE_UTIL_ONE_LINE_H_

#include <string>
#include <string_view>

namespace poniente::internal {

// Returns the text with all characters that could affect a terminal replaced by
// escapes: control characters of ASCII (\n, \x1b) and of Unicode, marks that
// change the direction of text or break lines (\u202e), and bytes that are not
// UTF-8 (\x9b).
std::string OneLine(std::string_view text);

}  // namespace poniente::internal

#endif  // PONIENTE_UTIL_ONE_LINE_H_
