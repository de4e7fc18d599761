// SPDX-License-Identifier: Apache-2.0
// Rows of tensors that say which documents a sample consists of.

#ifndef PONIENTE_LOADER_DOCUMENT_ROWS_H_
#define PONIENTE_LOADER_DOCUMENT_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "poniente/batch_tensors.h"

namespace poniente::internal {

// A part of a sample.
struct SamplePart {
  enum class Kind : uint8_t {
    kDocument,
    kPadding,
    // Padding that belongs to the document before it.
    kAlignment,
  };
  uint64_t begin = 0;  // first token in the source; 0 for padding
  uint32_t length = 0;
  Kind kind = Kind::kDocument;
};

// Which parts of documents the samples of a batch consist of.
class BatchDocuments {
 public:
  void Add(const SamplePart& part) { parts_.push_back(part); }
  void Clear() {
    parts_.clear();
    ends_.clear();
  }
  void EndSample() { ends_.push_back(parts_.size()); }

  // Returns the parts of a sample; none if nothing needs them.
  std::span<const SamplePart> Of(size_t sample) const {
    const size_t begin = sample == 0 ? 0 : ends_[sample - 1];
    return std::span(parts_).subspan(begin, ends_[sample] - begin);
  }

 private:
  std::vector<SamplePart> parts_;
  std::vector<size_t> ends_;  // by sample
};

// Each function fills a row for one sample. `parts` are the sample's, in order.
// REQUIRES: the length of none is 0; their sum is row.size().

// Writes 1 where the next token belongs to the same document, else 0; with
// `across`, also where it belongs to the next one.
void FillLossMask(std::span<const SamplePart> parts, bool across,
                  std::span<uint8_t> row);
// Writes the number of the document in the sample, from 0, or with `across` 0;
// -1 for padding.
void FillDocumentIds(std::span<const SamplePart> parts, bool across,
                     std::span<int32_t> row);
// Writes the position within the document's part of the sample, from 0, or
// unless `restarts` that within the sample; 0 for padding.
void FillPositions(std::span<const SamplePart> parts, bool restarts,
                   std::span<int32_t> row);

// Take away the loss of each token whose next one has none: sets the row of a
// loss mask to 0, or that of labels to kIgnoredLabel. `has_loss` is 1 or 0 for
// each token of the sample. A row that is empty stays so.
void TakeLossAway(std::span<const uint8_t> has_loss, std::span<uint8_t> row);
void TakeLabelsAway(std::span<const uint8_t> has_loss, std::span<int32_t> row);
void TakeLabelsAway(std::span<const uint8_t> has_loss, std::span<int64_t> row);

// Calls visit(end) where a token, at end - 1, has no label although its row has
// a next one; and mask(begin, end) for padding.
template <class Visit, class Mask>
void ForEachWithoutLabel(std::span<const SamplePart> parts, bool across,
                         const Visit& visit, const Mask& mask) {
  uint32_t end = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const SamplePart& part = parts[i];
    const uint32_t begin = end;
    end += part.length;
    if (part.kind != SamplePart::Kind::kDocument) {
      mask(begin, end);
    } else if (!across || i + 1 == parts.size() ||
               parts[i + 1].kind != SamplePart::Kind::kDocument) {
      visit(end);
    }
  }
}

// Writes the documents of a sample as attention sees them.
class SeqlensWriter {
 public:
  // `all`: the tensor of the batch, of samples of `seq_len` tokens.
  SeqlensWriter(std::span<int32_t> all, uint32_t seq_len, uint32_t most);

  struct Sample {
    int32_t documents = 0;
    int32_t longest = 0;
  };
  // Appends the next sample. Its documents may be more than there is room for:
  // the rest is then left out.
  Sample Add(std::span<const SamplePart> parts, bool across);
  // Fills what is left with the end of the batch.
  void Finish();

 private:
  const std::span<int32_t> all_;
  const int32_t seq_len_;
  const int32_t most_;
  size_t written_ = 1;
  int32_t end_ = 0;
};

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_DOCUMENT_ROWS_H_
