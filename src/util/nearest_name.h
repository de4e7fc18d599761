// SPDX-License-Identifier: Apache-2.0
// Suggests which known name a misspelt one was meant to be.

#ifndef PONIENTE_UTIL_NEAREST_NAME_H_
#define PONIENTE_UTIL_NEAREST_NAME_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace poniente::internal {

// Returns "; did you mean 'weight'?" for the nearest known name, or "" if none
// is near. A name that begins with `name` ("insp" of "inspect"), a path that
// ends with it ("math" of "small/math"), or a name that has two neighbouring
// characters swapped ("paln" of "plan"), is nearer than any other; of the
// others, the one with the fewest edits is.
std::string DidYouMean(std::string_view name,
                       std::span<const std::string> known);

// Does the same, but if no name is near, returns a list of the known ones, "
// (known: a, b, c)"; only the first ones if there are many.
std::string NearestOrAll(std::string_view name,
                         const std::vector<std::string>& known);

}  // namespace poniente::internal

#endif  // PONIENTE_UTIL_NEAREST_NAME_H_
