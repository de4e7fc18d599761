// SPDX-License-Identifier: Apache-2.0
#include "config/tree/empty_nodes.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "poniente/packing.h"

namespace poniente::internal {
namespace {

// Returns " that its filter and slice leave" for what chooses among the windows
// of the node; "" if nothing does.
std::string Choices(const Node& node) {
  std::vector<const char*> names;
  if (node.hold_out.has_value()) names.push_back("hold_out");
  if (node.documents.has_value()) names.push_back("documents");
  if (node.filter.has_value()) names.push_back("filter");
  if (node.slice.has_value()) names.push_back("slice");
  if (names.empty()) return "";
  return absl::StrCat(" that its ", absl::StrJoin(names, " and "),
                      names.size() == 1 ? " leaves" : " leave");
}

}  // namespace

absl::Status NothingToDraw(const Run& run, const ConfigSources& sources,
                           const Node& node, const NodePacking* packing,
                           const char* besides) {
  const bool is_leaf =
      node.kind == NodeKind::kStore || node.kind == NodeKind::kDeclared;
  std::string why =
      node.kind == NodeKind::kDataset ? "its dataset holds" : "its stores hold";
  if (is_leaf) {
    why =
        absl::StrCat("its store of ", sources.TokensOf(node), " tokens holds");
  }
  if (node.pack_documents.has_value()) packing = &*node.pack_documents;
  const bool packs = packing != nullptr && packing->is_packed;
  const bool drops =
      packs && packing->options.long_documents == LongDocuments::kDrop;
  const bool drops_ends =
      packs && packing->options.end_of_document == EndOfDocument::kDrop;
  return absl::InvalidArgumentError(absl::StrCat(
      ToString(node.location), " has ", besides, "nothing to draw: ", why,
      " no window of seq_len ", WindowTokens(run), " tokens", Choices(node),
      drops ? " (long_documents = \"drop\" leaves out documents that are "
              "longer)"
            : "",
      drops_ends ? " (without the ends of documents, which end_of_document "
                   "= \"drop\" leaves out)"
                 : ""));
}

}  // namespace poniente::internal
