// SPDX-License-Identifier: Apache-2.0
// The loss mask of a source, as loaders read it.

#ifndef PONIENTE_STORE_READ_SOURCE_LOSS_MASK_H_
#define PONIENTE_STORE_READ_SOURCE_LOSS_MASK_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "io/loss_mask_source.h"
#include "poniente/token_source.h"

namespace poniente::internal {

class SourceLossMask final : public LossMaskSource {
 public:
  // Borrows the source.
  explicit SourceLossMask(const TokenSource& source) : source_(source) {}

  // Returns null if all tokens of the source have loss.
  const LossMaskSource* get() const {
    return source_.has_loss_mask() ? this : nullptr;
  }

  const ByteReader& mask_reader() const override { return source_.reader(); }
  void LocateLossMask(uint64_t begin, uint64_t end,
                      std::vector<LocatedLossMask>* masks) const override {
    for (const LossMaskRange& range : source_.LossMaskRanges({begin, end})) {
      LocatedLossMask& mask = masks->emplace_back();
      mask.begin = range.tokens.begin;
      mask.tokens = range.tokens.size();
      if (!range.file.has_value()) continue;
      mask.range = FileRange{*range.file, range.offset, range.bytes};
      mask.first_bit = range.first_bit;
    }
  }
  absl::Status DecodeLossMask(const LocatedLossMask& mask,
                              const std::byte* stored,
                              std::span<uint8_t> has_loss) const override {
    LossMaskRange range;
    range.tokens = {mask.begin, mask.begin + mask.tokens};
    range.file = mask.range->file;
    range.offset = mask.range->offset;
    range.bytes = mask.range->bytes;
    range.first_bit = mask.first_bit;
    range.encoding = source_.loss_mask_arrays().front().encoding;
    return source_.DecodeLossMask(range, stored, has_loss);
  }

 private:
  const TokenSource& source_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_READ_SOURCE_LOSS_MASK_H_
