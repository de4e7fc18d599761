// SPDX-License-Identifier: Apache-2.0
// Where Linux says how much memory and processor time is left to a process.

#ifndef PONIENTE_UTIL_CONTROL_GROUPS_H_
#define PONIENTE_UTIL_CONTROL_GROUPS_H_

#include <string>
#include <string_view>
#include <vector>

namespace poniente::internal {

struct ControlGroup {
  std::string folder;  // may not exist
  bool is_v1 = false;  // the files have other names than those of version 2
};

// Returns the groups of this process that `controller` ("memory", "cpu") may
// limit, and those above them; empty if Linux reports none. A container may see
// the paths that its groups have outside of it: only the last, the root of what
// is mounted, is then there. `root` is the folder that contains proc and sys;
// it is "" except in tests.
std::vector<ControlGroup> ControlGroupsOf(std::string_view controller,
                                          const std::string& root);

}  // namespace poniente::internal

#endif  // PONIENTE_UTIL_CONTROL_GROUPS_H_
