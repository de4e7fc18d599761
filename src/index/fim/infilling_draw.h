// SPDX-License-Identifier: Apache-2.0
// Which pieces of documents are served filled in the middle, and how: a
// function of a key (docs/fim.md). Part of the order: a change moves tokens.

#ifndef PONIENTE_INDEX_FIM_INFILLING_DRAW_H_
#define PONIENTE_INDEX_FIM_INFILLING_DRAW_H_

#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>

#include "index/keyed_hash.h"
#include "poniente/extend/infilled_piece.h"

namespace poniente::internal {

// Returns the key of a source, by the names that lead to it from the root.
inline uint64_t InfillingKey(uint64_t seed, std::string_view path) {
  return Derive(seed, kInfillingTag, path);
}

// Returns a share as a bound for draws of 63 bits: those below it are chosen.
// REQUIRES: 0 <= share <= 1.
inline uint64_t InfillingBound(double share) {
  return static_cast<uint64_t>(std::ldexp(share, 63));
}

// What is drawn for one piece.
class InfillingDraw {
 public:
  // `source`: InfillingKey(); `begin`: the first token of the piece, in the
  // source.
  InfillingDraw(uint64_t source, uint64_t epoch, uint64_t document,
                uint64_t begin)
      : stream_(Derive(source, epoch, document, begin)),
        rate_draw_(stream_.Next() >> 1) {}

  // A higher rate chooses the pieces of a lower one, and others.
  // `bound`: InfillingBound(rate).
  bool IsChosen(uint64_t bound) const { return rate_draw_ < bound; }

  // Returns how the piece is served. Call it once. REQUIRES: tokens >=
  // kMinInfilledTokens.
  InfilledPiece Make(const InfillingOptions& options, uint32_t tokens,
                     bool keeps_first, bool keeps_last) {
    InfilledPiece::Shape shape;
    shape.tokens = tokens;
    shape.keeps_first = keeps_first;
    shape.keeps_last = keeps_last;
    const bool is_spm = stream_.Next() >> 1 < InfillingBound(options.spm_rate);
    shape.order = is_spm ? InfillingOrder::kSpm : InfillingOrder::kPsm;
    const uint64_t places = uint64_t{shape.body()} + 1;
    uint64_t first = stream_.Bounded(places);
    uint64_t second = stream_.Bounded(places);
    if (second < first) std::swap(first, second);
    shape.prefix_tokens = static_cast<uint32_t>(first);
    shape.middle_tokens = static_cast<uint32_t>(second - first);
    return InfilledPiece(shape, options);
  }

 private:
  KeyStream stream_;
  uint64_t rate_draw_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_FIM_INFILLING_DRAW_H_
