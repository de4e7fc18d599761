// SPDX-License-Identifier: Apache-2.0
#include "loader/rows/tensor_filler.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "dataset/joined_path.h"
#include "dataset/leaf_items.h"
#include "io/mmap/stream_copy.h"
#include "loader/batch_access.h"
#include "loader/rows/document_rows.h"
#include "loader/rows/part_finder.h"
#include "poniente/packing.h"
#include "util/nearest_name.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr BatchTensor kOfDocuments[] = {
    BatchTensor::kLabels,      BatchTensor::kLossMask,
    BatchTensor::kDocumentIds, BatchTensor::kPositions,
    BatchTensor::kCuSeqlens,   BatchTensor::kDocumentCounts,
    BatchTensor::kMaxSeqlens};

bool NeedsParts(const BatchLayout& layout) {
  return std::any_of(
      std::begin(kOfDocuments), std::end(kOfDocuments),
      [&layout](BatchTensor tensor) { return layout.Has(tensor); });
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
    const auto is_below = [&above = node](const std::string& path) {
      return IsAtOrBelow(path, above);
    };
    if (std::none_of(paths.begin(), paths.end(), is_below)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a loss weight is given for '", node,
          "', but no source is, or lies below, it", DidYouMean(node, paths)));
    }
  }
  return absl::OkStatus();
}

// Writes rows of tensors. Those of large batches are made in the caches and
// then written past them: no line has to be read before it is overwritten, and
// the tokens of the batch stay there.
class RowWriter {
 public:
  explicit RowWriter(const Batch& batch)
      : streams_(batch.num_samples() * batch.seq_len() >= kLeastStreamed) {}

  // `fill` fills all of a row.
  template <class T, class Fill>
  void Write(std::span<T> row, const Fill& fill) const {
    if (!streams_) return fill(row);
    static thread_local std::vector<std::byte> made;
    made.resize(std::max(made.size(), row.size_bytes()));
    fill(std::span(reinterpret_cast<T*>(made.data()), row.size()));
    StreamCopy(std::span(made).first(row.size_bytes()),
               reinterpret_cast<std::byte*>(row.data()), {});
  }

 private:
  // Tokens of a batch, of which a tensor then has 2 MiB.
  static constexpr uint64_t kLeastStreamed =
      kLeastStreamedBytes / sizeof(int32_t);

  const bool streams_;
};

template <class Id>
void FillLabels(const RowWriter& rows, std::span<const SamplePart> parts,
                size_t sample, Batch* batch) {
  const std::span<const Id> tokens = batch->tokens<Id>(sample);
  const auto fill = [&](std::span<Id> labels) {
    std::copy(tokens.begin() + 1, tokens.end(), labels.begin());
    labels.back() = kIgnoredLabel;
    ForEachWithoutLabel(
        parts, [labels](uint32_t end) { labels[end - 1] = kIgnoredLabel; },
        [labels](uint32_t begin, uint32_t end) {
          std::fill(labels.begin() + begin, labels.begin() + end,
                    static_cast<Id>(kIgnoredLabel));
        });
  };
  rows.Write<Id>(BatchAccess::RowOf<Id>(batch, BatchTensor::kLabels, sample),
                 fill);
}

template <class Id>
void FillBesides(std::span<const LabelBesides> besides, Batch* batch) {
  for (const LabelBesides& label : besides) {
    BatchAccess::RowOf<Id>(batch, BatchTensor::kLabels,
                           label.sample)[label.at] = static_cast<Id>(label.id);
  }
}

// The most documents of a sample that a leaf can give; 0 if not known.
uint32_t MostDocuments(const TreeLeaf& leaf) {
  const PackedItems* const packed = PackedItemsOf(leaf);
  // Padding counts as one.
  return packed == nullptr ? 0 : packed->packing_summary().max_pieces + 1;
}

// What cu_seqlens have room for, by sample; 0: as many as there are tokens.
uint32_t RoomForSequences(const DatasetTree& tree,
                          const LoaderOptions& options) {
  const auto room = [&options](uint32_t documents) {
    return static_cast<uint32_t>(
        std::min<uint64_t>(MostSequences(documents, options), UINT32_MAX));
  };
  if (options.documents.attention_across) return room(1);
  if (options.documents.max_documents > 0) {
    return options.documents.max_documents;
  }
  uint32_t most = 0;
  for (const TreeLeaf& leaf : tree.leaves()) {
    const uint32_t of_leaf = MostDocuments(leaf);
    if (of_leaf == 0) return 0;
    most = std::max(most, of_leaf);
  }
  return room(most);
}

absl::Status TooManyDocuments(std::string_view source, uint64_t has,
                              uint64_t most) {
  return absl::InvalidArgumentError(absl::StrCat(
      "'", Absl(source), "' has ", has,
      " documents in a sample, padding "
      "included, cu_seqlens have room for ",
      most,
      "; raise max_documents of the tensors, or pack fewer documents into a "
      "window"));
}

absl::Status CheckRoomForDocuments(const DatasetTree& tree,
                                   const LoaderOptions& options) {
  const uint32_t most = options.documents.max_documents;
  if (most == 0 || options.documents.attention_across) return absl::OkStatus();
  for (const TreeLeaf& leaf : tree.leaves()) {
    const uint64_t has = MostSequences(MostDocuments(leaf), options);
    if (MostDocuments(leaf) > 0 && has > most)
      return TooManyDocuments(leaf.path, has, most);
  }
  return absl::OkStatus();
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
  if (layout.Has(BatchTensor::kCuSeqlens)) {
    PONIENTE_RETURN_IF_ERROR(CheckRoomForDocuments(tree, options));
  }
  return CheckLossWeights(tree, options.loss_weights);
}

TensorFiller::TensorFiller(const DatasetTree& tree,
                           const LoaderOptions& options)
    : tree_(tree),
      layout_(options.token_type, options.tensors,
              RoomForSequences(tree, options)),
      needs_parts_(NeedsParts(layout_)) {
  for (const TreeLeaf& leaf : tree.leaves()) {
    loss_weights_.push_back(LossWeight(options.loss_weights, leaf.path));
  }
}

void TensorFiller::FillSample(std::span<const SamplePart> parts, size_t sample,
                              Batch* batch) const {
  const RowWriter rows(*batch);
  if (layout_.Has(BatchTensor::kLabels)) {
    if (batch->token_type() == TokenType::kI64) {
      FillLabels<int64_t>(rows, parts, sample, batch);
    } else {
      FillLabels<int32_t>(rows, parts, sample, batch);
    }
  }
  if (layout_.Has(BatchTensor::kLossMask)) {
    rows.Write<uint8_t>(
        BatchAccess::RowOf<uint8_t>(batch, BatchTensor::kLossMask, sample),
        [parts](std::span<uint8_t> row) { FillLossMask(parts, row); });
  }
  if (layout_.Has(BatchTensor::kDocumentIds)) {
    rows.Write<int32_t>(
        BatchAccess::RowOf<int32_t>(batch, BatchTensor::kDocumentIds, sample),
        [parts](std::span<int32_t> row) { FillDocumentIds(parts, row); });
  }
  if (layout_.Has(BatchTensor::kPositions)) {
    rows.Write<int32_t>(
        BatchAccess::RowOf<int32_t>(batch, BatchTensor::kPositions, sample),
        [parts](std::span<int32_t> row) { FillPositions(parts, row); });
  }
}

absl::Status TensorFiller::FillSeqlens(std::span<const LeafPosition> items,
                                       const SampleParts& parts,
                                       Batch* batch) const {
  const std::span<int32_t> ends =
      BatchAccess::AllOf<int32_t>(batch, BatchTensor::kCuSeqlens);
  const std::span<int32_t> counts =
      BatchAccess::AllOf<int32_t>(batch, BatchTensor::kDocumentCounts);
  const std::span<int32_t> longest =
      BatchAccess::AllOf<int32_t>(batch, BatchTensor::kMaxSeqlens);
  const uint32_t most = batch->max_documents();
  SeqlensWriter writer(ends, most);
  for (size_t i = 0; i < items.size(); ++i) {
    const SeqlensWriter::Sample sample = writer.Add(parts.Of(i));
    if (!ends.empty() && static_cast<uint32_t>(sample.sequences) > most) {
      return TooManyDocuments(tree_.leaves()[items[i].leaf].path,
                              static_cast<uint64_t>(sample.sequences), most);
    }
    if (!counts.empty()) counts[i] = sample.sequences;
    if (!longest.empty()) longest[i] = sample.longest;
  }
  writer.Finish();
  return absl::OkStatus();
}

absl::Status TensorFiller::Finish(std::span<const LeafPosition> items,
                                  const SampleParts& parts,
                                  std::span<const LabelBesides> besides,
                                  Batch* batch) const {
  FinishStreams();
  if (layout_.Has(BatchTensor::kLossWeights)) {
    auto* weights = reinterpret_cast<float*>(
        BatchAccess::Bytes(batch, BatchTensor::kLossWeights).data());
    for (size_t i = 0; i < items.size(); ++i) {
      weights[i] = loss_weights_[items[i].leaf];
    }
  }
  if (!needs_parts_) return absl::OkStatus();
  if (batch->token_type() == TokenType::kI64) {
    FillBesides<int64_t>(besides, batch);
  } else {
    FillBesides<int32_t>(besides, batch);
  }
  if (!layout_.Has(BatchTensor::kCuSeqlens) &&
      !layout_.Has(BatchTensor::kDocumentCounts) &&
      !layout_.Has(BatchTensor::kMaxSeqlens)) {
    return absl::OkStatus();
  }
  return FillSeqlens(items, parts, batch);
}

}  // namespace poniente::internal
