// SPDX-License-Identifier: Apache-2.0
// Many messages in few lines.

#ifndef PONIENTE_UTIL_ALIKE_LINES_H_
#define PONIENTE_UTIL_ALIKE_LINES_H_

#include <span>
#include <string>

namespace poniente::internal {

// Returns the lines in their order, each ended by a newline but the last. Lines
// are alike if they differ only in words with a digit, dot, slash or quote:
// paths, keys, numbers. Of more than four alike ones it returns the first three
// and, behind the third, the number of the others.
std::string JoinAlikeLines(std::span<const std::string> lines);

}  // namespace poniente::internal

#endif  // PONIENTE_UTIL_ALIKE_LINES_H_
