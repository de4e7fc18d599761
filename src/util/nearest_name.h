// SPDX-License-Identifier: Apache-2.0
// Guesses which known name a misspelt one was meant to be.

#ifndef PONIENTE_UTIL_NEAREST_NAME_H_
#define PONIENTE_UTIL_NEAREST_NAME_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace poniente::internal {

// "; did you mean 'weight'?" for the known name at the least edit distance, or
// "" if none comes near.
std::string DidYouMean(std::string_view name,
                       std::span<const std::string> known);

// The same, or if none comes near, what there is: " (known: a, b, c)", of many
// the first ones.
std::string NearestOrAll(std::string_view name,
                         const std::vector<std::string>& known);

}  // namespace poniente::internal

#endif  // PONIENTE_UTIL_NEAREST_NAME_H_
