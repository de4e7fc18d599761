// SPDX-License-Identifier: Apache-2.0
#include "loader/rows/loss_mask_rows.h"

#include <algorithm>
#include <span>

#include "absl/strings/str_cat.h"
#include "dataset/leaf_items.h"
#include "loader/batch_access.h"
#include "loader/rows/document_rows.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Joins one sample's mask, one byte per token.
template <class Id>
void JoinRow(std::span<const uint8_t> has_loss, size_t sample, Batch* batch) {
  TakeLossAway(has_loss, BatchAccess::RowOf<uint8_t>(
                             batch, BatchTensor::kLossMask, sample));
  TakeLabelsAway(has_loss,
                 BatchAccess::RowOf<Id>(batch, BatchTensor::kLabels, sample));
}

}  // namespace

absl::Status LossMaskRows::Check(const DatasetTree& tree,
                                 const BatchLayout& layout) {
  for (const TreeLeaf& leaf : tree.leaves()) {
    if (leaf.node->loss_mask() == nullptr) continue;
    const auto refused = [&leaf](const char* why) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", leaf.path, "' ('", leaf.node->name(),
                       "') says which of its tokens have loss, ", why));
    };
    if (!leaf.is_plain) {
      return refused(
          "but a function makes other items of its windows, and nobody knows "
          "which tokens of these have loss; leave the function out, or pack "
          "the source again without a loss mask to train on all tokens");
    }
    if (PiecesOf(leaf) == nullptr) {
      return refused(
          "but not where its documents are, so that no batch can; open it with "
          "the id that ends its documents");
    }
    if (!layout.Has(BatchTensor::kLossMask) &&
        !layout.Has(BatchTensor::kLabels)) {
      return refused(
          "but batches are to have neither loss_mask nor labels; add one of "
          "them to the tensors, or pack the source again without a loss mask "
          "to train on all tokens");
    }
  }
  return absl::OkStatus();
}

LossMaskRows::LossMaskRows(const DatasetTree& tree) {
  for (const TreeLeaf& leaf : tree.leaves()) {
    masks_.push_back(leaf.node->loss_mask());
    has_any_ |= masks_.back() != nullptr;
  }
}

LossMaskRows::Reads LossMaskRows::Plan(const SamplesByLeaf& by_leaf,
                                       const SampleParts& parts) const {
  Reads reads;
  if (!has_any_) return reads;
  std::vector<LocatedLossMask> masks;
  for (const SamplesByLeaf::Group& group : by_leaf) {
    const LossMaskSource* const from = masks_[group.leaf];
    if (from == nullptr) continue;
    const auto add = [&](uint32_t sample, uint32_t at, uint64_t begin,
                         uint32_t length) {
      masks.clear();
      from->LocateLossMask(begin, begin + length, &masks);
      for (const LocatedLossMask& mask : masks) {
        reads.parts.push_back({sample, at, from, mask});
        at += static_cast<uint32_t>(mask.tokens);
      }
    };
    for (const uint32_t sample : group.samples) {
      uint32_t at = 0;
      const SamplePart* before = nullptr;
      const auto add_last_label = [&] {
        if (before == nullptr ||
            before->last_label != SamplePart::LastLabel::kBesides) {
          return;
        }
        add(sample, at, before->label_token, 1);
      };
      for (const SamplePart& part : parts.Of(sample)) {
        if (part.kind == SamplePart::Kind::kDocument) {
          add(sample, at, part.begin, part.length);
        }
        add_last_label();
        before = &part;
        at += part.length;
      }
      add_last_label();
    }
  }
  size_t bytes = 0;
  for (const Reads::Part& part : reads.parts) {
    if (part.mask.range.has_value()) bytes += part.mask.range->bytes;
  }
  reads.bytes = std::make_unique_for_overwrite<std::byte[]>(bytes);
  reads.requests.reserve(reads.parts.size());
  std::byte* to = reads.bytes.get();
  for (Reads::Part& part : reads.parts) {
    if (!part.mask.range.has_value()) continue;
    const FileRange& range = *part.mask.range;
    const std::span<std::byte> into(to, range.bytes);
    reads.requests.push_back(
        {&part.from->mask_reader(), range.file, range.offset, into});
    part.stored = to;
    to += range.bytes;
  }
  return reads;
}

absl::Status LossMaskRows::Apply(const Reads& reads, Batch* batch) {
  // By token of the row, and of the label of the last one.
  std::vector<uint8_t> has_loss(size_t{batch->seq_len()} + 1);
  for (size_t i = 0; i < reads.parts.size();) {
    const uint32_t sample = reads.parts[i].sample;
    bool has_all = true;
    // Padding has no loss, whatever stands here.
    std::fill(has_loss.begin(), has_loss.end(), uint8_t{1});
    for (; i < reads.parts.size() && reads.parts[i].sample == sample; ++i) {
      const Reads::Part& part = reads.parts[i];
      const auto tokens =
          std::span(has_loss).subspan(part.at, part.mask.tokens);
      if (part.stored == nullptr) {
        std::fill(tokens.begin(), tokens.end(), uint8_t{1});
        continue;
      }
      has_all = false;
      PONIENTE_RETURN_IF_ERROR(
          part.from->DecodeLossMask(part.mask, part.stored, tokens));
    }
    if (has_all) continue;
    if (batch->token_type() == TokenType::kI64) {
      JoinRow<int64_t>(has_loss, sample, batch);
    } else {
      JoinRow<int32_t>(has_loss, sample, batch);
    }
  }
  return absl::OkStatus();
}

}  // namespace poniente::internal
