// SPDX-License-Identifier: Apache-2.0
#include "poniente/token_source.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "store/read/selected_windows.h"
#include "store/read/token_datasets.h"
#include "util/bits.h"
#include "util/status_macros.h"

namespace poniente {
namespace {

struct StoredTypeFacts {
  StoredType type;
  std::string_view name;
  uint32_t bytes;
  uint32_t id_bits;
};

constexpr std::array<StoredTypeFacts, 8> kStoredTypes = {{
    {StoredType::kU8, "u8", 1, 8},
    {StoredType::kI8, "i8", 1, 7},
    {StoredType::kU16, "u16", 2, 16},
    {StoredType::kI16, "i16", 2, 15},
    {StoredType::kU32, "u32", 4, 32},
    {StoredType::kI32, "i32", 4, 31},
    {StoredType::kU64, "u64", 8, 32},
    {StoredType::kI64, "i64", 8, 32},
}};

const StoredTypeFacts& Facts(StoredType type) {
  return kStoredTypes[static_cast<size_t>(type)];
}

absl::Status CheckWindow(uint64_t length, const WindowRule& rule) {
  if (length == 0 || length >= kWholeItem) {
    return absl::InvalidArgumentError(
        absl::StrCat("the length of a window must be 1 to ", kWholeItem - 1,
                     " tokens, got ", length));
  }
  if (rule.overlap > 1 || rule.overlap >= length) {
    return absl::InvalidArgumentError(absl::StrCat(
        "windows share 0 tokens or 1 with the next, less than their length, "
        "got an overlap of ",
        rule.overlap, " and a length of ", length));
  }
  return absl::OkStatus();
}

absl::Status NotInSource(const TokenSource& source, uint64_t begin,
                         uint64_t count) {
  return absl::OutOfRangeError(
      absl::StrCat(count, " tokens from token ", begin, " of '", source.path(),
                   "', which has ", source.num_tokens()));
}

}  // namespace

uint32_t StoredTypeBytes(StoredType type) { return Facts(type).bytes; }
std::string_view StoredTypeName(StoredType type) { return Facts(type).name; }
uint64_t StoredTypeLimit(StoredType type) {
  return uint64_t{1} << Facts(type).id_bits;
}

absl::StatusOr<StoredType> ParseStoredType(std::string_view name) {
  for (const StoredTypeFacts& facts : kStoredTypes) {
    if (facts.name == name) return facts.type;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown type '", internal::Absl(name),
                   "', expected u8, i8, u16, i16, u32, i32, u64 or i64"));
}

TokenSource::~TokenSource() = default;

Task<std::vector<uint32_t>> TokenSource::ReadTokens(uint64_t begin,
                                                    uint64_t count) const {
  if (begin > num_tokens() || count > num_tokens() - begin) {
    co_return NotInSource(*this, begin, count);
  }
  std::vector<TokenRange> range;
  range.push_back({begin, begin + count});
  absl::StatusOr<std::vector<TokenWindow>> windows =
      co_await ReadRanges(std::move(range));
  if (!windows.ok()) co_return windows.status();
  co_return std::move(windows->front().tokens);
}

std::vector<LossMaskRange> TokenSource::LossMaskRanges(
    TokenRange tokens) const {
  std::vector<LossMaskRange> ranges;
  if (tokens.begin == tokens.end) return ranges;
  if (!has_loss_mask()) {
    ranges.push_back({tokens});
    return ranges;
  }
  const std::span<const LossMaskArray> arrays = loss_mask_arrays();
  const std::span<const uint64_t> ends = shard_ends();
  auto shard = static_cast<size_t>(
      std::upper_bound(ends.begin(), ends.end(), tokens.begin) - ends.begin());
  while (tokens.begin < tokens.end) {
    const LossMaskArray& array = arrays[shard];
    LossMaskRange range;
    range.tokens = {tokens.begin, std::min(tokens.end, ends[shard++])};
    tokens.begin = range.tokens.end;
    if (range.tokens.size() == 0) continue;
    if (array.file.has_value()) {
      const uint64_t begin = range.tokens.begin - array.first_token;
      const uint64_t end = range.tokens.end - array.first_token;
      range.file = array.file;
      range.offset = array.offset + begin / 8;
      range.bytes = (end + 7) / 8 - begin / 8;
      range.first_bit = begin % 8;
    }
    ranges.push_back(range);
  }
  return ranges;
}

Task<std::vector<uint8_t>> TokenSource::ReadLossMask(uint64_t begin,
                                                     uint64_t count) const {
  if (begin > num_tokens() || count > num_tokens() - begin) {
    co_return NotInSource(*this, begin, count);
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

  std::vector<uint8_t> has_loss(static_cast<size_t>(count), 1);
  const std::byte* from = stored.get();
  for (const LossMaskRange& range : ranges) {
    if (!range.file.has_value()) continue;
    const std::span<uint8_t> part = std::span(has_loss).subspan(
        range.tokens.begin - begin, range.tokens.size());
    internal::UnpackBits(from, range.first_bit, part);
    from += range.bytes;
  }
  co_return has_loss;
}

absl::StatusOr<DatasetPtr<TokenWindow>> TokenSource::Windows(
    uint64_t length) const {
  return Windows(length, window_rule());
}

absl::StatusOr<DatasetPtr<TokenWindow>> TokenSource::Windows(
    uint64_t length, const WindowRule& rule) const {
  PONIENTE_RETURN_IF_ERROR(CheckWindow(length, rule));
  return internal::MakeWindows(shared_from_this(),
                               static_cast<uint32_t>(length), rule);
}

absl::StatusOr<DatasetPtr<TokenWindow>> TokenSource::Windows(
    uint64_t length, const Selection& documents) const {
  PONIENTE_RETURN_IF_ERROR(CheckWindow(length, {}));
  if (!knows_documents()) {
    return absl::FailedPreconditionError(
        absl::StrCat("'", path(),
                     "': where its documents end is not known, so none can be "
                     "selected; state its end-of-document id"));
  }
  return internal::MakeSelectedWindows(
      shared_from_this(), static_cast<uint32_t>(length), documents);
}

absl::Status TokenSource::DocumentRanges(std::span<const uint64_t> documents,
                                         std::span<TokenRange> ranges) const {
  for (size_t i = 0; i < documents.size(); ++i) {
    PONIENTE_ASSIGN_OR_RETURN(ranges[i], DocumentRange(documents[i]));
  }
  return absl::OkStatus();
}

DatasetPtr<TokenWindow> TokenSource::Documents() const {
  return internal::MakeDocuments(shared_from_this());
}

}  // namespace poniente
