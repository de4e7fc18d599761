// SPDX-License-Identifier: Apache-2.0
#include "formats/mds/mds_column.h"

#include <algorithm>
#include <array>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "util/one_line.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

using Kind = MdsTokenColumn::Kind;

constexpr std::array<MdsArrayType, 8> kArrayTypes = {{
    {"uint8", 8, StoredType::kU8},
    {"int8", 9, StoredType::kI8},
    {"uint16", 16, StoredType::kU16},
    {"int16", 17, StoredType::kI16},
    {"uint32", 32, StoredType::kU32},
    {"int32", 33, StoredType::kI32},
    {"uint64", 64, StoredType::kU64},
    {"int64", 65, StoredType::kI64},
}};

std::string ListColumns(const MdsColumns& columns) {
  constexpr size_t kMax = 32;
  std::string list;
  for (size_t i = 0; i < columns.names.size() && i < kMax; ++i) {
    absl::StrAppend(&list, i > 0 ? ", " : "", "'", OneLine(columns.names[i]),
                    "' (", OneLine(columns.encodings[i]), ")");
  }
  if (columns.names.size() > kMax) list += ", ...";
  return list.empty() ? "none" : list;
}

bool MayHoldIds(std::string_view encoding) {
  if (encoding == "bytes" || encoding == "ndarray") return true;
  if (!encoding.starts_with("ndarray:")) return false;
  encoding.remove_prefix(8);
  const std::string_view type = encoding.substr(0, encoding.find(':'));
  return std::any_of(kArrayTypes.begin(), kArrayTypes.end(),
                     [&](const MdsArrayType& t) { return t.name == type; });
}

absl::StatusOr<size_t> ChooseColumn(const std::string& path,
                                    const MdsColumns& columns,
                                    const std::string& wanted) {
  const auto find = [&](std::string_view name) {
    return std::find(columns.names.begin(), columns.names.end(), name) -
           columns.names.begin();
  };
  const size_t none = columns.names.size();
  std::string problem;
  if (!wanted.empty()) {
    const size_t at = find(wanted);
    if (at != none) return at;
    problem = absl::StrCat("has no column '", wanted, "'");
  } else {
    for (const std::string_view name : {"tokens", "input_ids"}) {
      const size_t at = find(name);
      if (at != none) return at;
    }
    size_t only = none;
    size_t found = 0;
    for (size_t i = 0; i < none; ++i) {
      if (!MayHoldIds(columns.encodings[i])) continue;
      only = i;
      ++found;
    }
    if (found == 1) return only;
    problem = found == 0 ? "has no column that can hold ids"
                         : "has several columns that can hold ids";
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "'", path, "' ", problem, "; its columns (and encodings) are ",
      ListColumns(columns), "; state one of integers (column)"));
}

// Fills kind, type and tokens from "ndarray:int32:2048" and the like.
absl::Status ParseEncoding(const std::string& encoding,
                           MdsTokenColumn* column) {
  if (encoding == "bytes") return absl::OkStatus();
  const std::vector<std::string> parts = absl::StrSplit(encoding, ':');
  if (!MayHoldIds(encoding) || parts.size() > 3) {
    return absl::InvalidArgumentError(absl::StrCat(
        "is encoded as '", OneLine(encoding),
        "', which holds no ids; bytes and ndarray of integers are read"));
  }
  column->kind = Kind::kAny;
  if (parts.size() == 1) return absl::OkStatus();
  column->kind = Kind::kTyped;
  for (const MdsArrayType& known : kArrayTypes) {
    if (known.name == parts[1]) column->type = known.type;
  }
  if (parts.size() == 2) return absl::OkStatus();
  column->kind = Kind::kFixed;
  column->tokens = 1;
  for (const absl::string_view part : absl::StrSplit(parts[2], ',')) {
    uint32_t length = 0;
    if (!absl::SimpleAtoi(part, &length) || length == 0 ||
        column->tokens * length > UINT32_MAX) {
      return absl::InvalidArgumentError(absl::StrCat(
          "is encoded as '", OneLine(encoding),
          "', expected lengths of axes whose product is below 2^32"));
    }
    column->tokens *= length;
  }
  return absl::OkStatus();
}

}  // namespace

std::span<const MdsArrayType> MdsArrayTypes() { return kArrayTypes; }

uint64_t MdsTokenColumn::SizeWords() const {
  return static_cast<uint64_t>(
      std::count(sizes.begin(), sizes.end(), std::nullopt));
}

uint64_t MdsTokenColumn::FixedBytes() const {
  uint64_t bytes = 0;
  for (const std::optional<uint64_t>& size : sizes) bytes += size.value_or(0);
  return bytes;
}

bool MdsTokenColumn::FollowsFromSizes() const {
  return SizeWords() == 1 && !sizes[place];
}

absl::StatusOr<MdsTokenColumn> FindMdsTokenColumn(
    const std::string& path, const MdsColumns& columns,
    const TokenSourceOptions& options) {
  PONIENTE_ASSIGN_OR_RETURN(const size_t place,
                            ChooseColumn(path, columns, options.column));
  MdsTokenColumn column;
  column.name = columns.names[place];
  column.sizes = columns.sizes;
  column.place = static_cast<uint32_t>(place);
  const auto name = [&] {
    return absl::StrCat("'", path, "': column '", OneLine(column.name), "' ");
  };
  const absl::Status parsed = ParseEncoding(columns.encodings[place], &column);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        name(), parsed.message(), "; the columns are ", ListColumns(columns)));
  }
  const bool fixed = column.kind == Kind::kFixed;
  const uint64_t bytes = column.tokens * StoredTypeBytes(column.type);
  if (columns.sizes[place] != (fixed ? std::optional(bytes) : std::nullopt)) {
    return absl::DataLossError(absl::StrCat(
        name(), "is encoded as '", OneLine(columns.encodings[place]), "' in ",
        columns.sizes[place] ? absl::StrCat(*columns.sizes[place], " bytes")
                             : "varying bytes",
        ", expected ", fixed ? absl::StrCat(bytes, " bytes") : "varying",
        " ('column_sizes'); the index is damaged"));
  }
  if (!options.dtype) return column;
  if (column.kind == Kind::kBytes) {
    column.type = *options.dtype;
  } else if (column.kind != Kind::kAny && column.type != *options.dtype) {
    return absl::InvalidArgumentError(absl::StrCat(
        name(), "holds ", Absl(StoredTypeName(column.type)), ", stated was ",
        Absl(StoredTypeName(*options.dtype)), "; leave out the dtype"));
  }
  return column;
}

}  // namespace poniente::internal
