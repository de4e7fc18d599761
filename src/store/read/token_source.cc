// SPDX-License-Identifier: Apache-2.0
#include "poniente/token_source.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "io/range_source.h"
#include "store/read/ordered_windows.h"
#include "store/read/selected_windows.h"
#include "store/read/stored_ids.h"
#include "store/read/token_datasets.h"
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

absl::Status CheckKnowsDocuments(const TokenSource& source, const char* verb) {
  if (source.knows_documents()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("'", source.path(),
                   "': where its documents end is not known, so none can be ",
                   verb, "; state its end-of-document id"));
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

absl::Status internal::NotInSource(const TokenSource& source, uint64_t begin,
                                   uint64_t count) {
  return absl::OutOfRangeError(
      absl::StrCat(count, " tokens from token ", begin, " of '", source.path(),
                   "', which has ", source.num_tokens()));
}

TokenSource::~TokenSource() = default;

void TokenSource::AppendFileRanges(uint64_t begin, uint64_t end,
                                   std::vector<FileRange>* ranges) const {
  const std::span<const TokenArray> in_arrays = arrays();
  const std::span<const uint64_t> ends = shard_ends();
  const uint64_t width = StoredTypeBytes(stored_type());
  auto shard = static_cast<size_t>(
      std::upper_bound(ends.begin(), ends.end(), begin) - ends.begin());
  for (; begin < end; ++shard) {
    const uint64_t to = std::min(end, ends[shard]);
    if (to == begin) continue;  // an empty shard
    const TokenArray& array = in_arrays[shard];
    ranges->push_back({array.file,
                       array.offset + (begin - array.first_token) * width,
                       (to - begin) * width});
    begin = to;
  }
}

Task<std::vector<uint32_t>> TokenSource::ReadTokens(uint64_t begin,
                                                    uint64_t count) const {
  if (begin > num_tokens() || count > num_tokens() - begin) {
    co_return internal::NotInSource(*this, begin, count);
  }
  std::vector<TokenRange> range;
  range.push_back({begin, begin + count});
  absl::StatusOr<std::vector<TokenWindow>> windows =
      co_await ReadRanges(std::move(range));
  if (!windows.ok()) co_return windows.status();
  co_return std::move(windows->front().tokens);
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
  PONIENTE_RETURN_IF_ERROR(CheckKnowsDocuments(*this, "selected"));
  return internal::MakeSelectedWindows(
      shared_from_this(), static_cast<uint32_t>(length), documents);
}

absl::StatusOr<DatasetPtr<TokenWindow>> TokenSource::Windows(
    uint64_t length, const ScoreOrder& order) const {
  PONIENTE_RETURN_IF_ERROR(CheckWindow(length, {}));
  PONIENTE_RETURN_IF_ERROR(CheckKnowsDocuments(*this, "ordered"));
  return internal::MakeOrderedWindows(
      shared_from_this(), static_cast<uint32_t>(length), order, nullptr);
}

absl::StatusOr<DatasetPtr<TokenWindow>> TokenSource::Windows(
    uint64_t length, const ScoreOrder& order,
    const Selection& documents) const {
  PONIENTE_RETURN_IF_ERROR(CheckWindow(length, {}));
  PONIENTE_RETURN_IF_ERROR(CheckKnowsDocuments(*this, "ordered"));
  return internal::MakeOrderedWindows(
      shared_from_this(), static_cast<uint32_t>(length), order, &documents);
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
