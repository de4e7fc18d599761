// SPDX-License-Identifier: Apache-2.0
#include "pack/loss_spans.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"

namespace poniente::internal {

std::vector<uint8_t> LossOfSpans(std::span<const LossSpan> spans,
                                 uint64_t count) {
  std::vector<LossSpan> sorted(spans.begin(), spans.end());
  std::sort(
      sorted.begin(), sorted.end(),
      [](const LossSpan& a, const LossSpan& b) { return a.begin < b.begin; });
  std::vector<uint8_t> has_loss(static_cast<size_t>(count), 0);
  // Each byte is set once, however much the spans overlap.
  uint64_t done = 0;
  for (const LossSpan& span : sorted) {
    if (span.end <= done) continue;
    const uint64_t begin = std::max(span.begin, done);
    std::fill(has_loss.begin() + static_cast<ptrdiff_t>(begin),
              has_loss.begin() + static_cast<ptrdiff_t>(span.end), 1);
    done = span.end;
  }
  return has_loss;
}

std::vector<uint8_t> LossOfPlaces(std::string_view text,
                                  std::span<const LossSpan> spans,
                                  std::span<const TokenPlace> places) {
  const std::vector<uint8_t> of_bytes = LossOfSpans(spans, text.size());
  std::vector<uint8_t> has_loss;
  has_loss.reserve(places.size());
  for (const TokenPlace& place : places) {
    size_t at = place.begin;
    while (at < place.end &&
           absl::ascii_isspace(static_cast<unsigned char>(text[at]))) {
      ++at;
    }
    if (at >= place.end) at = place.begin;
    // A token of the end of the text belongs to its last byte.
    at = std::min(at, text.size() - 1);
    has_loss.push_back(text.empty() ? 0 : of_bytes[at]);
  }
  return has_loss;
}

}  // namespace poniente::internal
