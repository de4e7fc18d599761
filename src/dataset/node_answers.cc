// SPDX-License-Identifier: Apache-2.0
#include "dataset/node_answers.h"

#include <new>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "poniente/extend/index_map_dataset.h"
#include "poniente/extend/worker_threads.h"
#include "poniente/task.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Nodes below come first: what a node says often follows from what they say.
absl::Status AskFromBelow(const DatasetNode& node) {
  std::string where = "a dataset";
  const char* function = "children()";
  try {
    const std::vector<NamedNode> children = node.children();
    for (const NamedNode& child : children) {
      const absl::Status below = AskFromBelow(*child.node);
      if (!below.ok()) return PrependName(below, child.name);
    }
    function = "name()";
    where = absl::StrCat("dataset '", node.name(), "'");
    function = "length_now()";
    (void)node.length_now();
    function = "fingerprint()";
    // A node that states its identity has the fingerprint of that and of the
    // nodes below.
    if (children.empty() || !node.identity().has_value()) {
      (void)node.fingerprint();
    }
    return absl::OkStatus();
  } catch (...) {
    return Prepend(ErrorOfFunction(std::current_exception()),
                   absl::StrCat(where, ": ", function));
  }
}

}  // namespace

absl::Status CheckAnswers(const DatasetNode& root) try {
  return AskFromBelow(root);
} catch (const std::bad_alloc&) {  // no memory for the message
  return OutOfMemory();
}

absl::Status ErrorOfNode(const DatasetNode& root, std::exception_ptr thrown) {
  const absl::Status error = StatusFromException(thrown);
  if (!absl::IsInternal(error)) return error;  // no memory, or cancelled
  const absl::Status asked = CheckAnswers(root);
  return absl::IsInternal(asked) ? asked : error;
}

}  // namespace poniente::internal
