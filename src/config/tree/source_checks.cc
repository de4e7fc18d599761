// SPDX-License-Identifier: Apache-2.0
#include "config/tree/source_checks.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "config/run_nodes.h"
#include "poniente/extend/piecewise_items.h"
#include "util/one_line.h"

namespace poniente::internal {
namespace {

// Whether item i is another one in each epoch, somewhere below.
bool ChangesWithEpoch(const DatasetNode& node) {
  const std::vector<NamedNode> children = node.children();
  if (children.empty()) {
    const PiecewiseItems* const pieces = PiecesOf(node);
    return pieces != nullptr && pieces->changes_with_epoch();
  }
  return std::any_of(
      children.begin(), children.end(),
      [](const NamedNode& child) { return ChangesWithEpoch(*child.node); });
}

// Above it, and with a window's worth of it, padding is warned of.
constexpr double kMuchPadding = 0.1;

// What may make it less. Which of the options costs how much is not known
// without packing the documents again.
std::string RemediesOfPadding(const PackingOptions& options,
                              const PackingSummary& packed) {
  std::vector<std::string> remedies;
  const auto add = [&remedies](const char* what, uint32_t now) {
    remedies.push_back(absl::StrCat(what, " (now ", now, ")"));
  };
  if (options.chunk_documents > 0) {
    add("larger chunk_documents", options.chunk_documents);
  }
  // A window that holds as many as it may.
  if (options.max_documents > 0 && packed.max_pieces == options.max_documents) {
    add("a larger max_documents", options.max_documents);
  }
  if (options.align > 1) add("a smaller align", options.align);
  const std::string other =
      "another seq_len, or pack_documents = false for this source";
  if (remedies.empty()) {
    return absl::StrCat(
        ", because no document fits into the gaps that others leave: try ",
        other);
  }
  return absl::StrCat("; try ", absl::StrJoin(remedies, ", or "),
                      ", or, if no document fits into the gaps that others "
                      "leave, ",
                      other);
}

}  // namespace

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

absl::Status CheckOwnWindows(const Run& run, const DatasetNode& own) {
  const uint32_t has = own.item_tokens();
  const uint32_t wants = WindowTokens(run);
  if (has == 0 || has == wants) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", own.name(), "' gives windows of ", has,
                   " tokens, the schedule asks for ", wants,
                   ": Run::max_seq_len, or the longest seq_len"));
}

std::string WarningOfPackedChoice(const Node& node, const DatasetNode& below) {
  const char* what = nullptr;
  if (node.take.has_value()) what = "take";
  if (node.slice.has_value()) what = "slice";
  if (node.order.has_value()) what = "order";
  if (node.filter.has_value()) what = "filter";
  if (what == nullptr || !ChangesWithEpoch(below)) return "";
  return absl::StrCat(
      ToString(node.location), ": ", what,
      " chooses among windows of packed documents, which hold other documents "
      "in each epoch: what is left out of one epoch is read in another; to "
      "choose documents, use documents, hold_out or order_documents");
}

std::string WarningOfPadding(const Node& node, const PackingOptions& options,
                             const DatasetNode& source) {
  const PackedItems* const items = PackedItemsOf(source);
  if (items == nullptr) return "";
  const PackingSummary& packed = items->packing_summary();
  if (packed.padding() <= kMuchPadding ||
      packed.padding_tokens() < packed.window_tokens) {
    return "";
  }
  return absl::StrFormat("%s: %.1f %% of its windows of %u tokens is padding%s",
                         ToString(node.location), 100 * packed.padding(),
                         packed.window_tokens,
                         RemediesOfPadding(options, packed));
}

}  // namespace poniente::internal
