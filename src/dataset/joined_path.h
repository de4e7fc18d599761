// SPDX-License-Identifier: Apache-2.0
#ifndef PONIENTE_DATASET_JOINED_PATH_H_
#define PONIENTE_DATASET_JOINED_PATH_H_

#include <string>

#include "absl/strings/str_cat.h"

namespace poniente::internal {

// Returns the path of a node's child: "small" and "fortunes" give
// "small/fortunes". A child without a name has its parent's path.
inline std::string JoinedPath(const std::string& path,
                              const std::string& name) {
  if (path.empty() || name.empty()) return path + name;
  return absl::StrCat(path, "/", name);
}

}  // namespace poniente::internal

#endif  // PONIENTE_DATASET_JOINED_PATH_H_
