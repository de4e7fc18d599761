// SPDX-License-Identifier: Apache-2.0
// Shortens lists of similar messages.

#ifndef PONIENTE_UTIL_ALIKE_LINES_H_
#define PONIENTE_UTIL_ALIKE_LINES_H_

#include <span>
#include <string>

#include "absl/status/status.h"

namespace poniente::internal {

// Returns the lines in their order, separated by newlines. Lines are alike if
// they differ only in words with a digit, dot, slash or quote: paths, keys,
// numbers. If more than eight lines are alike, returns only the first three of
// them and, after the third, the number of the others, with the places that
// they begin with if there are at most 16 ("data.mixture.a", "t.toml:3:1").
std::string JoinAlikeLines(std::span<const std::string> lines);

// Returns OK if all statuses are OK; else an error with the code of the first
// one and all messages, a few lines for those that are alike
// (JoinAlikeLines()).
absl::Status JoinErrors(std::span<const absl::Status> statuses);

}  // namespace poniente::internal

#endif  // PONIENTE_UTIL_ALIKE_LINES_H_
