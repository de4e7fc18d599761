// SPDX-License-Identifier: Apache-2.0
// What the samples of a batch consist of: parts of documents, and padding.

#ifndef PONIENTE_LOADER_ROWS_SAMPLE_PARTS_H_
#define PONIENTE_LOADER_ROWS_SAMPLE_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "poniente/extend/infilled_piece.h"

namespace poniente::internal {

// Consecutive tokens of a document, or of padding, in a row of a batch. A row
// is a sample, or the slice of it that one context-parallel rank has. The
// tensors say of a part what stands here: rules about documents are applied
// when parts are made.
struct SamplePart {
  enum class Kind : uint8_t { kDocument, kPadding };
  // The label of the part's last token. (All others have the token behind
  // them; padding has none.)
  enum class LastLabel : uint8_t {
    kNone,
    kInRow,   // the token that comes next in the row
    kBesides  // a token that is not in the row, or not next
  };

  // First token, in the source if the leaf implements PiecewiseItems, else in
  // the item; 0 for padding. If the piece is rearranged, that of the piece.
  uint64_t begin = 0;
  uint32_t length = 0;  // tokens, at least 1
  Kind kind = Kind::kDocument;
  LastLabel last_label = LastLabel::kNone;
  // Whether attention begins anew: cu_seqlens have its begin.
  bool begins_sequence = true;
  uint32_t begin_in_sample = 0;
  int32_t document = 0;  // number within the sample; -1 for padding
  int32_t position = 0;  // of the first token; not used for padding
  // With kBesides, counted in the source or the item.
  uint64_t label_token = 0;
  // Number in SampleParts of how its piece is rearranged, and the place there
  // at which the part begins; -1: it is not.
  int32_t infilled = -1;
  uint32_t place = 0;
  // With kBesides: the label, if it is a mark and no token of the source.
  std::optional<uint32_t> label_mark = std::nullopt;
};

// The parts of the samples of a batch.
class SampleParts {
 public:
  void Add(const SamplePart& part) { parts_.push_back(part); }
  // Returns the number of the piece.
  int32_t Add(const InfilledPiece& piece) {
    infilled_.push_back(piece);
    return static_cast<int32_t>(infilled_.size() - 1);
  }
  void Clear() {
    parts_.clear();
    ends_.clear();
    infilled_.clear();
  }
  void EndSample() { ends_.push_back(parts_.size()); }

  // Returns the parts of a sample, which fill its row in order; none if nothing
  // needs them.
  std::span<const SamplePart> Of(size_t sample) const {
    const size_t begin = sample == 0 ? 0 : ends_[sample - 1];
    return std::span(parts_).subspan(begin, ends_[sample] - begin);
  }
  // Returns the piece of this number.
  const InfilledPiece& Infilled(int32_t number) const {
    return infilled_[static_cast<size_t>(number)];
  }

 private:
  std::vector<SamplePart> parts_;
  std::vector<size_t> ends_;  // by sample
  std::vector<InfilledPiece> infilled_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_ROWS_SAMPLE_PARTS_H_
