// SPDX-License-Identifier: Apache-2.0
// Whether someone looks at a stream, and letters that stand out if so.

#ifndef PONIENTE_CLI_SCREEN_TERMINAL_H_
#define PONIENTE_CLI_SCREEN_TERMINAL_H_

#include <string>
#include <string_view>

namespace poniente::cli {

// A terminal that can go back in its line.
bool IsTerminal(int fd);

// Such a terminal, and NO_COLOR is not set or empty (no-color.org).
bool HasColours(int fd);

enum class Style { kError, kWarning, kHeader };

// The text as `fd` is to show it: as it is, unless HasColours(fd).
std::string Styled(int fd, Style style, std::string_view text);

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_SCREEN_TERMINAL_H_
