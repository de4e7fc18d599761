// SPDX-License-Identifier: Apache-2.0
// Tells whether a stream is a terminal, and styles text on it.

#ifndef PONIENTE_CLI_SCREEN_TERMINAL_H_
#define PONIENTE_CLI_SCREEN_TERMINAL_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace poniente::cli {

// Returns whether the stream is a terminal that can move back in its line.
bool IsTerminal(int fd);

// Returns how many letters a line of the terminal has room for, less one; 79 if
// that is not known. What does not fit goes on in the next line.
size_t LettersPerLine(int fd);

// Returns whether it is such a terminal and NO_COLOR is unset or empty
// (no-color.org).
bool HasColours(int fd);

enum class Style { kError, kWarning, kHeader };

// Returns the text in the style; unchanged unless HasColours(fd).
std::string Styled(int fd, Style style, std::string_view text);

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_SCREEN_TERMINAL_H_
