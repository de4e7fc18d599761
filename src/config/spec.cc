// SPDX-License-Identifier: Apache-2.0
#include "config/spec.h"

#include "absl/strings/str_cat.h"

namespace poniente::internal {

std::string ToString(const Place& place) {
  return absl::StrCat(place.file, ":", place.line, ":", place.column, ": ",
                      place.key);
}

const NodeSpec& Used(const NodeSpec& node) {
  const NodeSpec* used = &node;
  while (used->kind == NodeKind::kUse) used = &used->children[0];
  return *used;
}

bool SetThreshold(double at_least, NodeSpec* node) {
  for (std::optional<FilterSpec>* filter : {&node->filter, &node->documents}) {
    const bool is_outer = filter == &node->filter;
    if (filter->has_value() && (*filter)->kind == FilterSpec::Kind::kScores) {
      (*filter)->at_least = at_least;
      return true;
    }
    if (is_outer && node->kind == NodeKind::kUse) {
      return SetThreshold(at_least, &node->children[0]);
    }
  }
  return false;
}

}  // namespace poniente::internal
