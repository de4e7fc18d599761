// SPDX-License-Identifier: Apache-2.0
#include "loader/tensor_filler.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "loader/batch_access.h"
#include "loader/document_rows.h"
#include "util/nearest_name.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr BatchTensor kOfDocuments[] = {
    BatchTensor::kLabels, BatchTensor::kLossMask, BatchTensor::kDocumentIds,
    BatchTensor::kPositions};

bool NeedsDocuments(const BatchLayout& layout) {
  return std::any_of(
      std::begin(kOfDocuments), std::end(kOfDocuments),
      [&layout](BatchTensor tensor) { return layout.Has(tensor); });
}

// Returns whether `path` is that of `node` or of a node below it.
bool IsAtOrBelow(std::string_view path, std::string_view node) {
  return path.substr(0, node.size()) == node &&
         (path.size() == node.size() || path[node.size()] == '/');
}

float LossWeight(const std::map<std::string, float>& weights,
                 std::string_view path) {
  size_t longest = 0;
  float found = 1;
  for (const auto& [node, weight] : weights) {
    if (node.size() < longest || !IsAtOrBelow(path, node)) continue;
    longest = node.size();
    found = weight;
  }
  return found;
}

absl::Status CheckLossWeights(const DatasetTree& tree,
                              const std::map<std::string, float>& weights) {
  std::vector<std::string> paths;
  for (const TreeLeaf& leaf : tree.leaves()) paths.push_back(leaf.path);
  for (const auto& [node, weight] : weights) {
    if (!std::isfinite(weight) || weight < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("the loss weight of '", node,
                       "' must be finite and at least 0, got ", weight));
    }
    const auto is_below = [&node = node](const std::string& path) {
      return IsAtOrBelow(path, node);
    };
    if (std::none_of(paths.begin(), paths.end(), is_below)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a loss weight is given for '", node,
          "', but no source is, or lies below, it", DidYouMean(node, paths)));
    }
  }
  return absl::OkStatus();
}

template <class T>
std::span<T> RowOf(Batch* batch, BatchTensor tensor, size_t sample) {
  auto* all = reinterpret_cast<T*>(BatchAccess::Bytes(batch, tensor).data());
  return {all + sample * batch->seq_len(), batch->seq_len()};
}

template <class Id>
void FillLabels(std::span<const uint32_t> documents, size_t sample,
                Batch* batch) {
  const std::span<const Id> tokens = batch->tokens<Id>(sample);
  const std::span<Id> labels = RowOf<Id>(batch, BatchTensor::kLabels, sample);
  std::copy(tokens.begin() + 1, tokens.end(), labels.begin());
  size_t end = 0;
  for (const uint32_t length : documents) {
    end += length;
    labels[end - 1] = kIgnoredLabel;
  }
}

void FillFromDocuments(std::span<const uint32_t> documents, size_t sample,
                       Batch* batch) {
  const BatchLayout& layout = BatchAccess::Layout(*batch);
  if (layout.Has(BatchTensor::kLabels)) {
    if (batch->token_type() == TokenType::kI64) {
      FillLabels<int64_t>(documents, sample, batch);
    } else {
      FillLabels<int32_t>(documents, sample, batch);
    }
  }
  if (layout.Has(BatchTensor::kLossMask)) {
    FillLossMask(documents,
                 RowOf<uint8_t>(batch, BatchTensor::kLossMask, sample));
  }
  if (layout.Has(BatchTensor::kDocumentIds)) {
    FillDocumentIds(documents,
                    RowOf<int32_t>(batch, BatchTensor::kDocumentIds, sample));
  }
  if (layout.Has(BatchTensor::kPositions)) {
    FillPositions(documents,
                  RowOf<int32_t>(batch, BatchTensor::kPositions, sample));
  }
}

}  // namespace

absl::Status TensorFiller::Check(const DatasetTree& tree,
                                 const LoaderOptions& options) {
  const BatchLayout layout(options.token_type, options.tensors);
  const bool is_signed = options.token_type == TokenType::kI32 ||
                         options.token_type == TokenType::kI64;
  if (layout.Has(BatchTensor::kLabels) && !is_signed) {
    return absl::InvalidArgumentError(absl::StrCat(
        "labels mark what is to be ignored by ", kIgnoredLabel,
        ", which token_type ", Absl(TokenTypeName(options.token_type)),
        " does not hold; set i32 or i64, or ask for loss_mask"));
  }
  if (!options.loss_weights.empty() && !layout.Has(BatchTensor::kLossWeights)) {
    return absl::InvalidArgumentError(
        "loss weights of sources are given, but batches are not to have them; "
        "add loss_weights to the tensors");
  }
  return CheckLossWeights(tree, options.loss_weights);
}

TensorFiller::TensorFiller(const DatasetTree& tree,
                           const LoaderOptions& options)
    : tree_(tree),
      layout_(options.token_type, options.tensors),
      needs_documents_(NeedsDocuments(layout_)) {
  for (const TreeLeaf& leaf : tree.leaves()) {
    documents_.push_back(leaf.is_plain ? PiecesOf(*leaf.node) : nullptr);
    loss_weights_.push_back(LossWeight(options.loss_weights, leaf.path));
  }
}

absl::Status TensorFiller::AddDocuments(const LeafPosition& item,
                                        uint32_t seq_len,
                                        BatchDocuments* found) const {
  const PiecewiseItems* const documents = documents_[item.leaf];
  if (documents == nullptr) {
    found->Add(seq_len);
    found->EndSample();
    return absl::OkStatus();
  }
  const auto what = [&] {
    return absl::StrCat("documents of '", tree_.leaves()[item.leaf].path,
                        "' item ", item.position.index);
  };
  const absl::StatusOr<std::vector<ItemPiece>> pieces =
      documents->Pieces(item.position);
  if (!pieces.ok()) return Prepend(pieces.status(), what());
  uint64_t tokens = 0;
  for (const ItemPiece& piece : *pieces) {
    const uint64_t length = piece.end - piece.begin;
    if (piece.end <= piece.begin || length > seq_len - tokens) {
      tokens = UINT64_MAX;
      break;
    }
    tokens += length;
    found->Add(static_cast<uint32_t>(length));
  }
  found->EndSample();
  if (tokens == seq_len) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat(what(), " do not add up to its ", seq_len, " tokens"));
}

bool TensorFiller::HasDocumentsInMemory(
    std::span<const LeafPosition> items) const {
  return std::all_of(
      items.begin(), items.end(), [this](const LeafPosition& item) {
        const PiecewiseItems* const documents = documents_[item.leaf];
        return documents == nullptr ||
               documents->HasPiecesInMemory(item.position);
      });
}

absl::StatusOr<BatchDocuments> TensorFiller::FindDocuments(
    std::span<const LeafPosition> items, uint32_t seq_len) const {
  BatchDocuments found;
  for (const LeafPosition& item : items) {
    PONIENTE_RETURN_IF_ERROR(AddDocuments(item, seq_len, &found));
  }
  return found;
}

void TensorFiller::Fill(std::span<const LeafPosition> items,
                        const BatchDocuments& documents, Batch* batch) const {
  if (layout_.Has(BatchTensor::kLossWeights)) {
    auto* weights = reinterpret_cast<float*>(
        BatchAccess::Bytes(batch, BatchTensor::kLossWeights).data());
    for (size_t i = 0; i < items.size(); ++i) {
      weights[i] = loss_weights_[items[i].leaf];
    }
  }
  if (!needs_documents_) return;
  for (size_t i = 0; i < items.size(); ++i) {
    FillFromDocuments(documents.Of(i), i, batch);
  }
}

}  // namespace poniente::internal
