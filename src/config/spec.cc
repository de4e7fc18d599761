// SPDX-License-Identifier: Apache-2.0
#include "config/spec.h"

#include "absl/strings/str_cat.h"

namespace poniente::internal {

std::string ToString(const SourceLocation& location) {
  return absl::StrCat(location.file, ":", location.line, ":", location.column,
                      ": ", location.key);
}

const NodeSpec& Used(const NodeSpec& node) {
  const NodeSpec* used = &node;
  while (used->kind == NodeKind::kUse) used = &used->children[0];
  return *used;
}

namespace {

bool HasScores(const std::optional<FilterSpec>& filter) {
  return filter.has_value() && filter->kind == FilterSpec::Kind::kScores;
}

// The filter whose threshold is a component's; null if there is none.
const FilterSpec* ThresholdOf(const NodeSpec& node) {
  if (HasScores(node.filter)) return &*node.filter;
  if (node.kind == NodeKind::kUse) return ThresholdOf(node.children[0]);
  return HasScores(node.documents) ? &*node.documents : nullptr;
}

}  // namespace

bool HasThreshold(const NodeSpec& node) { return ThresholdOf(node) != nullptr; }

bool SetThreshold(double at_least, NodeSpec* node) {
  const FilterSpec* const filter = ThresholdOf(*node);
  if (filter == nullptr) return false;
  const_cast<FilterSpec*>(filter)->at_least = at_least;
  return true;
}

}  // namespace poniente::internal
