// SPDX-License-Identifier: Apache-2.0
#ifndef PONIENTE_DATASET_JOINED_PATH_H_
#define PONIENTE_DATASET_JOINED_PATH_H_

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace poniente::internal {

// Returns the path of a node's child: "small" and "fortunes" give
// "small/fortunes". A child without a name has its parent's path.
inline std::string JoinedPath(const std::string& path,
                              const std::string& name) {
  if (path.empty() || name.empty()) return path + name;
  return absl::StrCat(path, "/", name);
}

// Returns whether `path` is that of `node` or of a node below it.
inline bool IsAtOrBelow(std::string_view path, std::string_view node) {
  return path.starts_with(node) &&
         (path.size() == node.size() || path[node.size()] == '/');
}

}  // namespace poniente::internal

#endif  // PONIENTE_DATASET_JOINED_PATH_H_
