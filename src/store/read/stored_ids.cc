// SPDX-License-Identifier: Apache-2.0
#include "store/read/stored_ids.h"

#include <algorithm>
#include <memory>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "io/range_source.h"
#include "util/byte_order.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

template <class Stored>
Stored Load(const std::byte* from) {
  return static_cast<Stored>(LoadLittle<std::make_unsigned_t<Stored>>(from));
}

template <class Stored>
std::optional<size_t> Decode(const std::byte* from, std::span<uint32_t> to) {
  // Unsigned, so that negative ids become large ones.
  using Unsigned = std::make_unsigned_t<Stored>;
  Unsigned all = 0;
  for (size_t i = 0; i < to.size(); ++i) {
    const auto id = LoadLittle<Unsigned>(from + i * sizeof(Stored));
    all |= id;
    to[i] = static_cast<uint32_t>(id);
  }
  const auto is_id = [](Unsigned id) {
    return static_cast<Stored>(id) >= 0 && id <= UINT32_MAX;
  };
  if (is_id(all)) return std::nullopt;
  for (size_t i = 0;; ++i) {
    if (!is_id(LoadLittle<Unsigned>(from + i * sizeof(Stored)))) return i;
  }
}

// Calls `visit` with a value of the corresponding C++ type.
template <class Visit>
auto WithType(StoredType type, const Visit& visit) {
  switch (type) {
    case StoredType::kU8:
      return visit(uint8_t{});
    case StoredType::kI8:
      return visit(int8_t{});
    case StoredType::kU16:
      return visit(uint16_t{});
    case StoredType::kI16:
      return visit(int16_t{});
    case StoredType::kU32:
      return visit(uint32_t{});
    case StoredType::kI32:
      return visit(int32_t{});
    case StoredType::kU64:
      return visit(uint64_t{});
    case StoredType::kI64:
      break;
  }
  return visit(int64_t{});
}

}  // namespace

std::optional<size_t> DecodeIds(const std::byte* from, StoredType type,
                                std::span<uint32_t> to) {
  return WithType(
      type, [&](auto sample) { return Decode<decltype(sample)>(from, to); });
}

StoredType StoredTypeOf(TokenType type) {
  switch (type) {
    case TokenType::kU8:
      return StoredType::kU8;
    case TokenType::kU16:
      return StoredType::kU16;
    default:
      return StoredType::kU32;
  }
}

bool IsSigned(StoredType type) {
  return WithType(
      type, [](auto sample) { return std::is_signed_v<decltype(sample)>; });
}

int64_t StoredIdAt(const std::byte* from, StoredType type, size_t at) {
  return WithType(type, [&](auto sample) {
    return static_cast<int64_t>(
        Load<decltype(sample)>(from + at * sizeof(sample)));
  });
}

absl::Status NotAnId(const TokenSource& source, uint64_t token, int64_t id) {
  return absl::DataLossError(absl::StrCat(
      "'", source.path(), "': token ", token, " is stored as ", id,
      ", which is no id: ids are 0 to 2^32 - 1; the file is damaged, or of "
      "another type than ",
      Absl(StoredTypeName(source.stored_type()))));
}

absl::StatusOr<std::vector<TokenWindow>> DecodeRanges(
    const TokenSource& source, std::span<const TokenRange> ranges,
    const std::byte* stored) {
  const StoredType type = source.stored_type();
  std::vector<TokenWindow> windows(ranges.size());
  for (size_t i = 0; i < ranges.size(); ++i) {
    windows[i].tokens.resize(ranges[i].size());
    const std::optional<size_t> bad =
        DecodeIds(stored, type, windows[i].tokens);
    if (bad.has_value()) {
      return NotAnId(source, ranges[i].begin + *bad,
                     StoredIdAt(stored, type, *bad));
    }
    stored += ranges[i].size() * StoredTypeBytes(type);
  }
  return windows;
}

Task<std::vector<TokenWindow>> ReadFromArrays(const TokenSource& source,
                                              std::vector<TokenRange> ranges) {
  const uint64_t width = StoredTypeBytes(source.stored_type());
  uint64_t bytes = 0;
  for (const TokenRange& range : ranges) bytes += range.size() * width;
  const auto stored = std::make_unique_for_overwrite<std::byte[]>(bytes);

  std::vector<FileRange> located;
  located.reserve(ranges.size());
  for (const TokenRange& range : ranges) {
    source.AppendFileRanges(range.begin, range.end, &located);
  }
  std::vector<ReadRequest> requests;
  requests.reserve(located.size());
  std::byte* to = stored.get();
  for (const FileRange& range : located) {
    requests.push_back(
        {&source.reader(), range.file, range.offset, {to, range.bytes}});
    to += range.bytes;
  }
  const absl::Status read = co_await ReadBatch(requests);
  if (!read.ok()) co_return read;

  co_return DecodeRanges(source, ranges, stored.get());
}

}  // namespace poniente::internal
