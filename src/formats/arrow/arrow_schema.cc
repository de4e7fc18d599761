// SPDX-License-Identifier: Apache-2.0
// Finds the column of a schema that holds ids, and counts the arrays and
// buffers before it in a record batch. The order of arrays is depth-first, in
// the order of the fields.
#include <optional>

#include "absl/strings/str_cat.h"
#include "formats/arrow/arrow_metadata.h"
#include "util/one_line.h"
#include "util/status_macros.h"

#if defined(PONIENTE_HAS_FLATBUFFERS)

#include "formats/arrow/arrow_tables.h"
#include "formats/arrow/flat_table.h"

namespace poniente::internal {
namespace {

constexpr int kMaxNesting = 32;
constexpr uint64_t kMaxNamed = 20;

// The number of a type in a schema.
enum ArrowType : uint8_t {
  kNull = 1,
  kInt = 2,
  kFloat = 3,
  kBinary = 4,
  kUtf8 = 5,
  kBool = 6,
  kDecimal = 7,
  kDate = 8,
  kTime = 9,
  kTimestamp = 10,
  kInterval = 11,
  kList = 12,
  kStruct = 13,
  kUnion = 14,
  kFixedSizeBinary = 15,
  kFixedSizeList = 16,
  kMap = 17,
  kDuration = 18,
  kLargeBinary = 19,
  kLargeUtf8 = 20,
  kLargeList = 21,
  kRunEndEncoded = 22,
  kBinaryView = 23,
  kUtf8View = 24,
  kListView = 25,
  kLargeListView = 26,
};

absl::Status DamagedSchema() {
  return absl::DataLossError(
      "the schema is damaged: a table or vector leads out of it; fetch the "
      "file again");
}

// Returns the number of buffers of an array of the type, without those of its
// children.
uint64_t BuffersOf(const FlatTable& field, uint8_t type, int16_t version) {
  switch (type) {
    case kNull:
      return 0;
    case kRunEndEncoded:
      return version < arrow::kVersion5 ? 1 : 0;
    case kStruct:
    case kFixedSizeList:
      return 1;
    case kBinary:
    case kUtf8:
    case kLargeBinary:
    case kLargeUtf8:
    case kListView:
    case kLargeListView:
      return 3;
    case kUnion: {
      const bool is_dense =
          field.Child(arrow::field::kType).Scalar<int16_t>(0, 0) == 1;
      return (is_dense ? 2u : 1u) + (version < arrow::kVersion5 ? 1u : 0u);
    }
    default:
      return 2;
  }
}

absl::Status CountNodes(const FlatTable& field, int16_t version, int nesting,
                        ArrowCounts* counts) {
  const auto type = field.Scalar<uint8_t>(arrow::field::kTypeKind, 0);
  if (!field.exists()) return DamagedSchema();
  if (type < kNull || type > kLargeListView) {
    return absl::InvalidArgumentError(absl::StrCat(
        "column '", OneLine(field.Text(arrow::field::kName)),
        "' is of type number ", type,
        ", expected at most 26; write the data without it, or with an older "
        "Arrow"));
  }
  ++counts->nodes;
  if (field.Has(arrow::field::kDictionary)) {
    counts->buffers += 2;
    return absl::OkStatus();
  }
  counts->buffers += BuffersOf(field, type, version);
  counts->views += type == kBinaryView || type == kUtf8View ? 1 : 0;
  const FlatTables children = field.Tables(arrow::field::kChildren);
  if (children.size() > 0 && nesting == kMaxNesting) {
    return absl::InvalidArgumentError(absl::StrCat(
        "columns are nested deeper than ", kMaxNesting, " levels"));
  }
  for (uint64_t i = 0; i < children.size(); ++i) {
    PONIENTE_RETURN_IF_ERROR(
        CountNodes(children[i], version, nesting + 1, counts));
  }
  return absl::OkStatus();
}

std::string_view NameOfType(uint8_t type) {
  switch (type) {
    case kNull:
      return "null";
    case kBinary:
    case kLargeBinary:
    case kBinaryView:
    case kFixedSizeBinary:
      return "binary";
    case kUtf8:
    case kLargeUtf8:
    case kUtf8View:
      return "string";
    case kBool:
      return "bool";
    case kList:
      return "list";
    case kStruct:
      return "struct";
    case kFixedSizeList:
      return "fixed_size_list";
    case kMap:
      return "map";
    case kLargeList:
      return "large_list";
    case kListView:
    case kLargeListView:
      return "list_view";
    default:
      return "another type";
  }
}

// Returns the type of a field of integers of 8, 16, 32 or 64 bits; nullopt for
// other fields.
std::optional<StoredType> IntegerType(const FlatTable& field) {
  if (field.Scalar<uint8_t>(arrow::field::kTypeKind, 0) != kInt ||
      field.Has(arrow::field::kDictionary)) {
    return std::nullopt;
  }
  const FlatTable type = field.Child(arrow::field::kType);
  const bool is_signed = type.Scalar<uint8_t>(1, 0) != 0;
  switch (type.Scalar<int32_t>(0, 0)) {
    case 8:
      return is_signed ? StoredType::kI8 : StoredType::kU8;
    case 16:
      return is_signed ? StoredType::kI16 : StoredType::kU16;
    case 32:
      return is_signed ? StoredType::kI32 : StoredType::kU32;
    case 64:
      return is_signed ? StoredType::kI64 : StoredType::kU64;
    default:
      return std::nullopt;
  }
}

// Returns the type of a field for messages, such as "list<i64>".
std::string Describe(const FlatTable& field, int nesting = 0) {
  if (field.Has(arrow::field::kDictionary)) return "dictionary";
  const auto type = field.Scalar<uint8_t>(arrow::field::kTypeKind, 0);
  if (const auto integers = IntegerType(field)) {
    return std::string(StoredTypeName(*integers));
  }
  if (type == kFloat) {
    const auto precision =
        field.Child(arrow::field::kType).Scalar<int16_t>(0, 0);
    return precision == 0 ? "f16" : precision == 1 ? "f32" : "f64";
  }
  std::string name(NameOfType(type));
  const bool is_list = type == kList || type == kLargeList ||
                       type == kFixedSizeList || type == kListView ||
                       type == kLargeListView;
  const FlatTables children = field.Tables(arrow::field::kChildren);
  if (is_list && children.size() == 1 && nesting < 4) {
    absl::StrAppend(&name, "<", Describe(children[0], nesting + 1), ">");
  }
  return name;
}

// Returns nullopt if the rows are not lists of integers.
std::optional<ArrowColumn> ListOfIntegers(const FlatTable& field) {
  if (field.Has(arrow::field::kDictionary)) return std::nullopt;
  const auto type = field.Scalar<uint8_t>(arrow::field::kTypeKind, 0);
  ArrowColumn column;
  if (type == kFixedSizeList) {
    const auto size = field.Child(arrow::field::kType).Scalar<int32_t>(0, 0);
    if (size <= 0) return std::nullopt;
    column.kind = ArrowListKind::kFixedSize;
    column.fixed_size = static_cast<uint64_t>(size);
  } else if (type == kLargeList) {
    column.kind = ArrowListKind::k64BitOffsets;
  } else if (type != kList) {
    return std::nullopt;
  }
  const FlatTables children = field.Tables(arrow::field::kChildren);
  if (children.size() != 1) return std::nullopt;
  const std::optional<StoredType> ids = IntegerType(children[0]);
  if (!ids) return std::nullopt;
  column.type = *ids;
  column.name = std::string(field.Text(arrow::field::kName));
  return column;
}

// Lists fields for messages, such as "'a' (string), 'b' (list<i64>)": all
// fields, or only lists of integers.
std::string Names(const FlatTables& fields, bool only_lists) {
  std::string names;
  uint64_t named = 0;
  for (uint64_t i = 0; i < fields.size(); ++i) {
    const FlatTable field = fields[i];
    if (only_lists && !ListOfIntegers(field)) continue;
    if (++named > kMaxNamed) return absl::StrCat(names, ", ...");
    absl::StrAppend(&names, named == 1 ? "'" : ", '",
                    OneLine(field.Text(arrow::field::kName)), "' (",
                    Describe(field), ")");
  }
  return names.empty() ? "none" : names;
}

// Returns the number of the column that holds ids.
absl::StatusOr<uint64_t> ChooseField(const FlatTables& fields,
                                     std::string_view stated) {
  const auto find = [&fields](std::string_view name) {
    std::vector<uint64_t> found;
    for (uint64_t i = 0; i < fields.size(); ++i) {
      if (fields[i].Text(arrow::field::kName) == name) found.push_back(i);
    }
    return found;
  };
  for (const std::string_view name :
       {stated, std::string_view("input_ids"), std::string_view("tokens")}) {
    if (name.empty()) continue;
    const std::vector<uint64_t> found = find(name);
    if (found.size() == 1) return found[0];
    if (found.size() > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(found.size(), " columns are called '", OneLine(name),
                       "'; rename all but one"));
    }
    if (name == stated) {
      return absl::InvalidArgumentError(
          absl::StrCat("there is no column '", OneLine(name), "', only ",
                       Names(fields, /*only_lists=*/false)));
    }
  }
  std::vector<uint64_t> lists;
  for (uint64_t i = 0; i < fields.size(); ++i) {
    if (ListOfIntegers(fields[i])) lists.push_back(i);
  }
  if (lists.size() == 1) return lists[0];
  if (lists.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "no column holds lists of integers; the columns are ",
        Names(fields, /*only_lists=*/false), "; tokenize the text first"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("several columns hold lists of integers: ",
                   Names(fields, /*only_lists=*/true), "; state one (column)"));
}

absl::StatusOr<ArrowColumn> ColumnOf(const FlatTable& schema, int16_t version,
                                     std::string_view name) {
  if (!schema.exists()) return DamagedSchema();
  if (schema.Scalar<int16_t>(arrow::schema::kEndianness, 0) != 0) {
    return absl::InvalidArgumentError(
        "the file is big-endian; write it again on a little-endian machine");
  }
  const FlatTables fields = schema.Tables(arrow::schema::kFields);
  PONIENTE_ASSIGN_OR_RETURN(const uint64_t chosen, ChooseField(fields, name));
  const std::optional<ArrowColumn> lists = ListOfIntegers(fields[chosen]);
  if (!lists) {
    return absl::InvalidArgumentError(absl::StrCat(
        "column '", OneLine(fields[chosen].Text(arrow::field::kName)),
        "' is of type ", Describe(fields[chosen]),
        ", expected list, large_list or fixed_size_list of integers; cast it, "
        "or state another column"));
  }
  ArrowColumn column = *lists;
  for (uint64_t i = 0; i < fields.size(); ++i) {
    if (i == chosen) column.before = column.all;
    PONIENTE_RETURN_IF_ERROR(
        CountNodes(fields[i], version, /*nesting=*/0, &column.all));
  }
  return column;
}

}  // namespace

absl::StatusOr<ArrowColumn> ParseArrowSchema(
    std::span<const std::byte> metadata, std::string_view name) {
  FlatBuffer buffer(metadata);
  const FlatTable message = FlatTable::Root(&buffer);
  absl::StatusOr<ArrowColumn> column =
      ColumnOf(message.Child(arrow::message::kHeader),
               message.Scalar<int16_t>(arrow::message::kVersion, 0), name);
  if (buffer.is_damaged()) return DamagedSchema();
  return column;
}

absl::StatusOr<ArrowFooter> ParseArrowFooter(std::span<const std::byte> footer,
                                             std::string_view name) {
  FlatBuffer buffer(footer);
  const FlatTable table = FlatTable::Root(&buffer);
  absl::StatusOr<ArrowColumn> column =
      ColumnOf(table.Child(arrow::footer::kSchema),
               table.Scalar<int16_t>(arrow::footer::kVersion, 0), name);
  const FlatElements blocks =
      table.Elements(arrow::footer::kBatches, arrow::footer::kBlockBytes);
  if (buffer.is_damaged()) return DamagedSchema();
  if (!column.ok()) return column.status();
  ArrowFooter found{*std::move(column), {}};
  found.batches.reserve(blocks.size);
  for (uint64_t i = 0; i < blocks.size; ++i) {
    const auto number = [&](uint64_t within) {
      return static_cast<uint64_t>(
          blocks.Int64(i, arrow::footer::kBlockBytes, within));
    };
    found.batches.push_back({number(0), number(8) & 0xffffffff, number(16)});
  }
  return found;
}

}  // namespace poniente::internal

#else

namespace poniente::internal {

absl::StatusOr<ArrowColumn> ParseArrowSchema(
    std::span<const std::byte> /*metadata*/, std::string_view /*name*/) {
  return absl::UnimplementedError(
      "this build cannot read Arrow: build with libflatbuffers-dev");
}
absl::StatusOr<ArrowFooter> ParseArrowFooter(
    std::span<const std::byte> /*footer*/, std::string_view /*name*/) {
  return absl::UnimplementedError(
      "this build cannot read Arrow: build with libflatbuffers-dev");
}

}  // namespace poniente::internal

#endif
