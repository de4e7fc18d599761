// SPDX-License-Identifier: Apache-2.0
#include "config/tree/source_windows.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <typeinfo>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "config/tree/budget.h"
#include "config/tree/hold_outs.h"
#include "config/tree/source_checks.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/transforms.h"
#include "store/growing/growing_store.h"
#include "util/check.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Whether a leaf in a dataset of the program's own is one of DeclaredWindows().
bool IsDeclared(const DatasetNode& leaf) {
  static const auto* const kDeclared = new DatasetPtr<TokenWindow>(
      DeclaredWindows("", /*tokens=*/1, /*length=*/1).value());
  const DatasetNode& declared = **kDeclared;
  return typeid(leaf) == typeid(declared);
}

// What makes packed windows the same as another leaf's.
std::string PackedKey(const TokenSource& source, const PackingOptions& options,
                      const Selection* documents) {
  return absl::StrCat(reinterpret_cast<uintptr_t>(&source), " ",
                      documents == nullptr ? 0 : documents->fingerprint(), " ",
                      static_cast<int>(options.long_documents), " ",
                      static_cast<int>(options.end_of_document), " ",
                      options.align, " ", options.max_documents, " ",
                      options.overlap, " ", options.parts, " ", options.shuffle,
                      " ", options.chunk_documents, " ", options.shuffle_chunks,
                      " ", options.index_file);
}

// What a leaf shares with its copies under other seeds.
const void* KeyOf(const DatasetNode& leaf) {
  const PackedItems* const packed = PackedItemsOf(leaf);
  if (packed != nullptr) return &packed->packing_summary();
  return &leaf;
}

}  // namespace

absl::StatusOr<DatasetPtr<TokenWindow>> SourceWindows::Packed(
    const TokenSource& source, const PackingOptions& packing, uint64_t tokens,
    const Selection* documents) {
  PackingOptions options = packing;
  if (!options.index_file.empty()) {
    options.index_file = sources_.Located(options.index_file);
  }
  if (packed_lengths_.size() < 2) {
    return documents == nullptr
               ? source.PackedWindows(tokens, options)
               : source.PackedWindows(tokens, options, *documents);
  }
  std::vector<DatasetPtr<TokenWindow>>& made =
      packed_[PackedKey(source, options, documents)];
  if (made.empty()) {
    auto each =
        documents == nullptr
            ? source.PackedWindowsOfEach(packed_lengths_, options)
            : source.PackedWindowsOfEach(packed_lengths_, options, *documents);
    if (!each.ok()) return each.status();
    made = *std::move(each);
  }
  const auto at =
      std::find(packed_lengths_.begin(), packed_lengths_.end(), tokens);
  PONIENTE_CHECK(at != packed_lengths_.end()) << tokens;
  return made[static_cast<size_t>(at - packed_lengths_.begin())];
}

absl::StatusOr<std::shared_ptr<const Selection>> SourceWindows::DocumentsOf(
    const Node& node, const NodeHoldOut* hold_out, bool cuts,
    SelectionReader* reader) const {
  const TokenSource& source = *sources_.Opened(node);
  std::shared_ptr<const Selection> chosen;
  if (node.documents.has_value()) {
    PONIENTE_ASSIGN_OR_RETURN(
        Selection selected,
        reader->Read(*node.documents, source.num_documents()));
    chosen = std::make_shared<const Selection>(std::move(selected));
  }
  if (hold_out != nullptr && hold_out->documents != 0) {
    absl::StatusOr<Selection> left =
        SelectDocuments(source, *hold_out, chosen.get());
    if (!left.ok()) return AtItsPlace(hold_out->location, left.status());
    chosen = std::make_shared<const Selection>(*std::move(left));
  }
  if (!cuts) return chosen;
  absl::StatusOr<Selection> kept =
      chosen == nullptr ? CutToBudget(source.num_documents(), *run_.budget)
                        : CutToBudget(*chosen, *run_.budget);
  if (!kept.ok()) return kept.status();
  return std::make_shared<const Selection>(*std::move(kept));
}

absl::StatusOr<DatasetPtr<TokenWindow>> SourceWindows::Cut(
    const Node& node, const TokenSource& source, const Selection* documents,
    const NodeHoldOut* hold_out, SelectionReader* reader) {
  const uint32_t tokens = WindowTokens(run_);
  if (node.order_documents.has_value()) {
    const NodeOrder& stated = *node.order_documents;
    PONIENTE_ASSIGN_OR_RETURN(const ScoreOrder order,
                              reader->ReadShared(stated));
    absl::StatusOr<DatasetPtr<TokenWindow>> made =
        documents == nullptr ? source.Windows(tokens, order)
                             : source.Windows(tokens, order, *documents);
    if (!made.ok()) return AtItsPlace(stated.location, made.status());
    return made;
  }
  if (documents != nullptr) return source.Windows(tokens, *documents);
  WindowRule rule = source.window_rule();
  rule.keep_tail = false;  // samples of one length
  rule.overlap = node.files.overlap.value_or(rule.overlap);
  rule.across_shards = node.files.across_shards.value_or(rule.across_shards);
  if (hold_out != nullptr) rule.overlap = 0;
  return source.Windows(tokens, rule);
}

absl::StatusOr<DatasetPtr<TokenWindow>> SourceWindows::Windows(
    const Node& node, const PackingOptions* packing, uint64_t packed_tokens,
    const NodeHoldOut* hold_out, SelectionReader* reader) {
  DatasetPtr<TokenWindow> made;
  ConfigSource source;
  source.is_readable = node.kind != NodeKind::kDeclared;
  source.tokens = sources_.TokensOf(node);
  if (hold_out != nullptr) {
    PONIENTE_RETURN_IF_ERROR(CheckHoldOut(node, packing, *hold_out));
    source.hold_out = *hold_out;
  }
  if (node.kind == NodeKind::kDeclared) {
    if (packing != nullptr) {
      return absl::InvalidArgumentError(
          "has a size but no data, so where its documents end is not known and "
          "they cannot be packed; state pack_documents = false for it");
    }
    PONIENTE_ASSIGN_OR_RETURN(
        made, DeclaredWindows(node.location.key, node.tokens,
                              WindowTokens(run_), node.vocabulary));
  } else {
    if (packing != nullptr && node.order_documents.has_value()) {
      return AtItsPlace(node.order_documents->location,
                        absl::InvalidArgumentError(DocumentOrderOfPacked()));
    }
    source.data = sources_.Opened(node);
    source.location = source.data->path();
    const std::shared_ptr<GrowingStore> growing = sources_.Growing(node);
    if (growing != nullptr) {
      PONIENTE_RETURN_IF_ERROR(CheckGrowing(run_, packing, hold_out));
      PONIENTE_ASSIGN_OR_RETURN(made,
                                WindowsOfGrowing(growing, WindowTokens(run_)));
      leaves_[KeyOf(*made)] = std::move(source);
      return made;
    }
    const bool cuts_documents = packing != nullptr && run_.budget &&
                                run_.budget->experiment < run_.budget->target;
    PONIENTE_ASSIGN_OR_RETURN(
        source.documents, DocumentsOf(node, hold_out, cuts_documents, reader));
    if (packing != nullptr) {
      PONIENTE_ASSIGN_OR_RETURN(made,
                                Packed(*source.data, *packing, packed_tokens,
                                       source.documents.get()));
    } else {
      PONIENTE_ASSIGN_OR_RETURN(
          made,
          Cut(node, *source.data, source.documents.get(), hold_out, reader));
    }
  }
  const void* const key = KeyOf(*made);
  if (hold_out != nullptr && hold_out->windows > 0) {
    PONIENTE_ASSIGN_OR_RETURN(Selection left,
                              SelectWindows(*made->CurrentLength(), *hold_out));
    source.windows = std::make_shared<const Selection>(left);
    PONIENTE_ASSIGN_OR_RETURN(made, Filter(std::move(made), std::move(left)));
  }
  leaves_[key] = std::move(source);
  return made;
}

ConfigSource SourceWindows::SourceOf(const DatasetNode& leaf) const {
  const auto made = leaves_.find(KeyOf(leaf));
  if (made != leaves_.end()) return made->second;
  ConfigSource own;
  own.is_readable = !IsDeclared(leaf);
  own.tokens = TokensOfDataset(run_, leaf).value_or(0);
  return own;
}

}  // namespace poniente::internal
