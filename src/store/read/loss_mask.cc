// SPDX-License-Identifier: Apache-2.0
// Where the loss mask of a source lies, and what its bytes say.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/strings/str_cat.h"
#include "poniente/token_source.h"
#include "store/read/stored_ids.h"
#include "util/bits.h"
#include "util/byte_order.h"

namespace poniente {
namespace {

using Rule = LossMaskEncoding::Rule;

// Decodes to.size() numbers. Returns the index of the first that the rule does
// not allow; nullopt on success.
template <class U>
std::optional<size_t> DecodeNumbers(const LossMaskEncoding& encoding,
                                    const std::byte* from,
                                    std::span<uint8_t> to) {
  const auto value = static_cast<U>(encoding.value);
  U all = 0;
  for (size_t i = 0; i < to.size(); ++i) {
    const auto number = internal::LoadLittle<U>(from + i * sizeof(U));
    switch (encoding.rule) {
      case Rule::kAllBut:
        to[i] = number != value;
        break;
      case Rule::kOnly:
        to[i] = number == value;
        break;
      default:
        to[i] = static_cast<uint8_t>(number & 1);
        all |= number;
    }
  }
  if (all <= 1) return std::nullopt;
  for (size_t i = 0;; ++i) {
    if (internal::LoadLittle<U>(from + i * sizeof(U)) > 1) return i;
  }
}

std::optional<size_t> DecodeNumbers(const LossMaskEncoding& encoding,
                                    const std::byte* from,
                                    std::span<uint8_t> to) {
  switch (StoredTypeBytes(encoding.type)) {
    case 1:
      return DecodeNumbers<uint8_t>(encoding, from, to);
    case 2:
      return DecodeNumbers<uint16_t>(encoding, from, to);
    case 4:
      return DecodeNumbers<uint32_t>(encoding, from, to);
    default:
      return DecodeNumbers<uint64_t>(encoding, from, to);
  }
}

// Sets where tokens [begin, end) of the array lie in its file.
void SetPlace(const LossMaskArray& array, uint64_t begin, uint64_t end,
              LossMaskRange* range) {
  range->file = array.file;
  range->encoding = array.encoding;
  if (array.encoding.rule == Rule::kBits) {
    range->offset = array.offset + begin / 8;
    range->bytes = (end + 7) / 8 - begin / 8;
    range->first_bit = begin % 8;
  } else {
    const uint64_t width = StoredTypeBytes(array.encoding.type);
    range->offset = array.offset + begin * width;
    range->bytes = (end - begin) * width;
  }
}

}  // namespace

std::vector<LossMaskRange> TokenSource::LossMaskRanges(
    TokenRange tokens) const {
  std::vector<LossMaskRange> ranges;
  if (tokens.begin == tokens.end) return ranges;
  if (!has_loss_mask()) {
    ranges.push_back({tokens});
    return ranges;
  }
  const std::span<const LossMaskArray> arrays = loss_mask_arrays();
  auto next = std::upper_bound(arrays.begin(), arrays.end(), tokens.begin,
                               [](uint64_t at, const LossMaskArray& array) {
                                 return at < array.first_token;
                               });
  while (tokens.begin < tokens.end) {
    const LossMaskArray& array = *(next - 1);
    const uint64_t array_end =
        next == arrays.end() ? num_tokens() : (next++)->first_token;
    LossMaskRange range;
    range.tokens = {tokens.begin, std::min(tokens.end, array_end)};
    tokens.begin = range.tokens.end;
    if (range.tokens.size() == 0) continue;
    if (array.file.has_value()) {
      SetPlace(array, range.tokens.begin - array.first_token,
               range.tokens.end - array.first_token, &range);
    }
    ranges.push_back(range);
  }
  return ranges;
}

absl::Status TokenSource::DecodeLossMask(const LossMaskRange& range,
                                         const std::byte* stored,
                                         std::span<uint8_t> has_loss) const {
  if (!range.file.has_value()) {
    std::fill(has_loss.begin(), has_loss.end(), uint8_t{1});
    return absl::OkStatus();
  }
  if (range.encoding.rule == Rule::kBits) {
    internal::UnpackBits(stored, range.first_bit, has_loss);
    return absl::OkStatus();
  }
  const std::optional<size_t> bad =
      DecodeNumbers(range.encoding, stored, has_loss);
  if (!bad.has_value()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      "'", path(), "': its loss mask has the number ",
      internal::StoredIdAt(stored, range.encoding.type, *bad), " for token ",
      range.tokens.begin + *bad,
      ", expected 0 or 1; if these are labels, state which of them has no loss "
      "(no_loss, mostly -100), and if they are roles, which has loss (loss); "
      "else the file is damaged"));
}

Task<std::vector<uint8_t>> TokenSource::ReadLossMask(uint64_t begin,
                                                     uint64_t count) const {
  if (begin > num_tokens() || count > num_tokens() - begin) {
    co_return internal::NotInSource(*this, begin, count);
  }
  const std::vector<LossMaskRange> ranges =
      LossMaskRanges({begin, begin + count});
  uint64_t bytes = 0;
  for (const LossMaskRange& range : ranges) bytes += range.bytes;
  const auto stored = std::make_unique_for_overwrite<std::byte[]>(bytes);
  std::vector<ReadRequest> requests;
  std::byte* to = stored.get();
  for (const LossMaskRange& range : ranges) {
    if (!range.file.has_value()) continue;
    requests.push_back({&reader(),
                        *range.file,
                        range.offset,
                        {to, static_cast<size_t>(range.bytes)}});
    to += range.bytes;
  }
  const absl::Status read = co_await ReadBatch(requests);
  if (!read.ok()) co_return read;

  std::vector<uint8_t> has_loss(static_cast<size_t>(count));
  const std::byte* from = stored.get();
  for (const LossMaskRange& range : ranges) {
    const std::span<uint8_t> part = std::span(has_loss).subspan(
        range.tokens.begin - begin, range.tokens.size());
    const absl::Status decoded = DecodeLossMask(range, from, part);
    if (!decoded.ok()) co_return decoded;
    from += range.bytes;
  }
  co_return has_loss;
}

}  // namespace poniente
