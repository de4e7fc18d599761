// SPDX-License-Identifier: Apache-2.0
#include "config/tree/source_checks.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "config/run_nodes.h"
#include "util/one_line.h"

namespace poniente::internal {

absl::Status AtItsPlace(const SourceLocation& location,
                        const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat(ToString(location), ": ",
                                   OneLine(std::string(status.message()))));
}

absl::Status CheckHoldOut(const Node& node, const PackingOptions* packing,
                          const NodeHoldOut& hold_out) {
  std::string mistake;
  if (node.files.overlap.has_value() || node.files.across_shards.has_value()) {
    mistake =
        "cannot be combined with overlap or across_shards: windows are cut "
        "from the documents that remain, and share no token";
  } else if (hold_out.windows > 0 && packing != nullptr) {
    mistake =
        "cannot hold out windows of packed documents, which are other windows "
        "in each epoch: hold out documents";
  } else if (hold_out.windows > 0 && node.documents.has_value()) {
    mistake =
        "cannot hold out windows where documents are selected: hold out "
        "documents";
  } else if (hold_out.windows > 0 && node.order_documents.has_value()) {
    mistake =
        "cannot hold out windows where documents have an order "
        "(order_documents): hold out documents";
  } else if (hold_out.documents > 0 && node.kind == NodeKind::kDeclared) {
    mistake =
        absl::StrCat("cannot hold out documents of ", node.location.key,
                     ", which has only a number of tokens: hold out windows");
  }
  if (mistake.empty()) return absl::OkStatus();
  return AtItsPlace(hold_out.location, absl::InvalidArgumentError(mistake));
}

absl::Status CheckGrowing(const Run& run, const PackingOptions* packing,
                          const NodeHoldOut* hold_out) {
  const char* what = nullptr;
  if (packing != nullptr) what = "its documents cannot be packed";
  if (hold_out != nullptr) what = "nothing can be held out of it";
  if (run.budget.has_value()) what = "a budget cannot cut it";
  if (what == nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("is still being written, so ", what,
                   ": wait until it is complete, or leave this out for it"));
}

}  // namespace poniente::internal
