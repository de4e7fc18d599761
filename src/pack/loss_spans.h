// SPDX-License-Identifier: Apache-2.0
// From spans of a document that have loss to tokens that have loss.

#ifndef PONIENTE_PACK_LOSS_SPANS_H_
#define PONIENTE_PACK_LOSS_SPANS_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace poniente::internal {

// Bytes of a text, or tokens of a document, [begin, end). Spans may be in any
// order and overlap; what is in one of them has loss.
struct LossSpan {
  uint64_t begin = 0;
  uint64_t end = 0;

  friend bool operator==(const LossSpan&, const LossSpan&) = default;
};

// The bytes of a text that a token stands for. Empty if it stands for a part of
// the character at `begin`, or for none.
struct TokenPlace {
  uint32_t begin = 0;
  uint32_t end = 0;

  friend bool operator==(const TokenPlace&, const TokenPlace&) = default;
};

// Returns one byte for each of `count` tokens or bytes: 1 if it is in a span,
// else 0. REQUIRES: no span ends beyond `count`.
std::vector<uint8_t> LossOfSpans(std::span<const LossSpan> spans,
                                 uint64_t count);

// Returns one byte for each token, 1 if it has loss. The first byte of the
// token that is not white space (of ASCII) decides; if there is none, its first
// byte does. Models put the space before a word, or the end of a line before an
// answer, into the token of the word; so the word decides.
// REQUIRES: no span and no place ends beyond the text.
std::vector<uint8_t> LossOfPlaces(std::string_view text,
                                  std::span<const LossSpan> spans,
                                  std::span<const TokenPlace> places);

}  // namespace poniente::internal

#endif  // PONIENTE_PACK_LOSS_SPANS_H_
