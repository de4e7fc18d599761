// SPDX-License-Identifier: Apache-2.0
// The library's version, and the version of the order it defines.

#ifndef PONIENTE_VERSION_H_
#define PONIENTE_VERSION_H_

#include <cstdint>
#include <string_view>

namespace poniente {

// Identifies the mapping from (configuration, seed) to the token that each step
// sees. Two builds with the same number yield the same tokens on any machine,
// with any number of ranks and threads, any I/O backend and any instruction
// set. It changes only with an entry under "Order changes" in CHANGELOG.md.
inline constexpr uint32_t kOrderVersion = 2;

// Returns "major.minor.patch", as in CMakeLists.txt.
std::string_view Version();

}  // namespace poniente

#endif  // PONIENTE_VERSION_H_
