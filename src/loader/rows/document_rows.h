// SPDX-License-Identifier: Apache-2.0
// Rows of tensors that say which documents a sample consists of.

#ifndef PONIENTE_LOADER_ROWS_DOCUMENT_ROWS_H_
#define PONIENTE_LOADER_ROWS_DOCUMENT_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "loader/rows/sample_parts.h"

namespace poniente::internal {

// Each function fills a row of a tensor. `parts` fill the row in order.

// A label that is not in the row, or another id that is put into a tensor by
// itself.
struct LabelBesides {
  uint32_t sample = 0;
  uint32_t at = 0;  // place in the row
  uint64_t id = 0;
};

// Writes 1 where a token has a label, else 0.
void FillLossMask(std::span<const SamplePart> parts, std::span<uint8_t> row);
// Writes the number of the document in the sample; -1 for padding.
void FillDocumentIds(std::span<const SamplePart> parts, std::span<int32_t> row);
// Writes positions; 0 for padding.
void FillPositions(std::span<const SamplePart> parts, std::span<int32_t> row);

// Take away the loss of tokens: set the row of a loss mask to 0, or that of
// labels to kIgnoredLabel, where has_loss[i + 1], that of the label of token i,
// is 0. It is 0 or 1. A row that is empty stays so. REQUIRES: has_loss.size()
// == row.size() + 1, unless the row is empty.
void TakeLossAway(std::span<const uint8_t> has_loss, std::span<uint8_t> row);
void TakeLabelsAway(std::span<const uint8_t> has_loss, std::span<int32_t> row);
void TakeLabelsAway(std::span<const uint8_t> has_loss, std::span<int64_t> row);

// Calls visit(end) where a token, at end - 1, has no label although its row has
// a next one; and mask(begin, end) for padding.
template <class Visit, class Mask>
void ForEachWithoutLabel(std::span<const SamplePart> parts, const Visit& visit,
                         const Mask& mask) {
  uint32_t end = 0;
  for (const SamplePart& part : parts) {
    const uint32_t begin = end;
    end += part.length;
    if (part.kind == SamplePart::Kind::kPadding) {
      mask(begin, end);
    } else if (part.last_label == SamplePart::LastLabel::kNone) {
      visit(end);
    }
  }
}

// Writes cu_seqlens: the sequences of a row as attention sees them.
class SeqlensWriter {
 public:
  // `all`: the tensor of the batch, whose samples have `most` sequences.
  SeqlensWriter(std::span<int32_t> all, uint32_t most);

  struct Sample {
    int32_t sequences = 0;
    int32_t longest = 0;
  };
  // Appends the next sample. Its sequences may be more than there is room for:
  // the rest is then left out.
  Sample Add(std::span<const SamplePart> parts);
  // Fills what is left with the end of the batch.
  void Finish();

 private:
  const std::span<int32_t> all_;
  const int32_t most_;
  size_t written_ = 1;
  int32_t end_ = 0;
};

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_ROWS_DOCUMENT_ROWS_H_
