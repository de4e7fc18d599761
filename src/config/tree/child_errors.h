// SPDX-License-Identifier: Apache-2.0
// The errors of a node's children, so that all of them are told at once.

#ifndef PONIENTE_CONFIG_TREE_CHILD_ERRORS_H_
#define PONIENTE_CONFIG_TREE_CHILD_ERRORS_H_

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "poniente/run.h"
#include "util/alike_lines.h"
#include "util/status_macros.h"

namespace poniente::internal {

// The error of a node that cannot be built because of one that is told in
// another place, and how to recognise it.
inline absl::Status ToldElsewhere() { return absl::CancelledError(""); }
inline bool IsToldElsewhere(const absl::Status& error) {
  return absl::IsCancelled(error) && error.message().empty();
}

class ChildErrors {
 public:
  // `located`: whether the error of the last child that was built has its place
  // in front of it.
  explicit ChildErrors(bool* located) : located_(located) {}

  // Adds an error, with its place, unless it is there. OK adds nothing.
  void Add(const absl::Status& error, const SourceLocation& location) {
    if (error.ok()) return;
    if (IsToldElsewhere(error)) {
      is_told_ = true;
      *located_ = false;
      return;
    }
    absl::Status placed =
        *located_ ? error : Prepend(error, ToString(location));
    *located_ = false;  // of the next child
    if (std::find(errors_.begin(), errors_.end(), placed) == errors_.end()) {
      errors_.push_back(std::move(placed));
    }
  }

  // Returns all errors, a line for each; OK if there are none.
  absl::Status Joined() const {
    *located_ |= !errors_.empty();
    if (errors_.empty() && is_told_) return ToldElsewhere();
    return JoinErrors(errors_);
  }

 private:
  bool* const located_;
  std::vector<absl::Status> errors_;
  bool is_told_ = false;  // one of them elsewhere
};

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_TREE_CHILD_ERRORS_H_
