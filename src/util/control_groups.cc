// SPDX-License-Identifier: Apache-2.0
#include "util/control_groups.h"

#include <algorithm>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace poniente::internal {

std::vector<ControlGroup> ControlGroupsOf(std::string_view controller,
                                          const std::string& root) {
  const std::string mount = root + "/sys/fs/cgroup";
  const std::string name(controller);
  std::vector<ControlGroup> groups;
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    // number:controllers:path, without controllers in version 2.
    const std::vector<std::string> parts =
        absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() < 3) continue;
    const std::vector<std::string> listed = absl::StrSplit(parts[1], ',');
    const bool is_v1 =
        std::find(listed.begin(), listed.end(), name) != listed.end();
    if (!is_v1 && !parts[1].empty()) continue;
    const std::string top = is_v1 ? absl::StrCat(mount, "/", name) : mount;
    std::string path = parts[2];
    while (path.ends_with('/')) path.pop_back();
    while (!path.empty()) {
      groups.push_back({top + path, is_v1});
      const size_t slash = path.rfind('/');
      path.resize(slash == std::string::npos ? 0 : slash);
    }
    groups.push_back({top, is_v1});
  }
  return groups;
}

}  // namespace poniente::internal
