// SPDX-License-Identifier: Apache-2.0
#include "dataset/node_answers.h"

#include <new>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "poniente/extend/index_map_dataset.h"
#include "poniente/extend/worker_threads.h"
#include "poniente/task.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Nodes below come first: what a node says often follows from what they say.
absl::Status AskFromBelow(const DatasetNode& node) {
  std::optional<std::string> name;
  const char* function = "children()";
  try {
    const std::vector<NamedNode> children = node.children();
    for (const NamedNode& child : children) {
      const absl::Status below = AskFromBelow(*child.node);
      if (!below.ok()) return PrependName(below, child.name);
    }
    function = "name()";
    name = node.name();
    function = "length_now()";
    // While it grows, nobody asks for its fingerprint, which may not be known.
    if (!node.length_now().is_final) return absl::OkStatus();
    function = "identity()";
    const bool states_identity = node.identity().has_value();
    function = "fingerprint()";
    // A node that states its identity has the fingerprint of that and of the
    // nodes below.
    if (children.empty() || !states_identity) (void)node.fingerprint();
    return absl::OkStatus();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (...) {
    return Prepend(
        ErrorOfFunction(std::current_exception()),
        absl::StrCat(name ? absl::StrCat("dataset '", *name, "'") : "a dataset",
                     ": ", function));
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
  const bool is_the_same = absl::IsInternal(asked) &&
                           absl::EndsWith(asked.message(), error.message());
  return is_the_same ? asked : error;
}

}  // namespace poniente::internal
