// SPDX-License-Identifier: Apache-2.0
#include "formats/mds/mds_rows.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "util/byte_order.h"
#include "util/one_line.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

using Kind = MdsTokenColumn::Kind;

bool HasHead(Kind kind) { return kind == Kind::kTyped || kind == Kind::kAny; }

// Returns the bytes that the length of an axis takes: as few as can hold it.
uint64_t AxisBytes(uint64_t length) {
  if (length <= UINT8_MAX) return 1;
  if (length <= UINT16_MAX) return 2;
  return length <= UINT32_MAX ? 4 : 8;
}

// Returns the size of the head of an array with one axis.
uint64_t HeadBytes(Kind kind, uint64_t tokens) {
  if (!HasHead(kind)) return 0;
  return (kind == Kind::kAny ? 2 : 1) + AxisBytes(tokens);
}

std::vector<std::byte> ArrayHeadOf(Kind kind, StoredType type,
                                   uint64_t tokens) {
  std::vector<std::byte> head;
  if (!HasHead(kind)) return head;
  if (kind == Kind::kAny) {
    for (const MdsArrayType& known : MdsArrayTypes()) {
      if (known.type == type) head.push_back(std::byte{known.code});
    }
  }
  const uint64_t width = AxisBytes(tokens);
  head.push_back(std::byte(1 << 2 | (width == 1   ? 0
                                     : width == 2 ? 1
                                     : width == 4 ? 2
                                                  : 3)));
  for (uint64_t i = 0; i < width; ++i)
    head.push_back(std::byte(tokens >> 8 * i));
  return head;
}

// Returns the number of tokens in a column of `bytes` bytes, for an array with
// one axis; nullopt if no number fits.
std::optional<uint64_t> TokensIn(uint64_t bytes, Kind kind, StoredType type) {
  const uint64_t width = StoredTypeBytes(type);
  if (!HasHead(kind)) {
    if (bytes % width != 0) return std::nullopt;
    return bytes / width;
  }
  for (const uint64_t length : {1, 256, 65536}) {
    const uint64_t head = HeadBytes(kind, length);
    if (bytes < head || (bytes - head) % width != 0) continue;
    const uint64_t tokens = (bytes - head) / width;
    if (HeadBytes(kind, tokens) == head && tokens > 0) return tokens;
  }
  return std::nullopt;
}

// Returns the error for row `row`, which begins at byte `begin`.
absl::Status RowError(const InputBytes& shard, uint64_t row, uint64_t begin,
                      std::string_view what) {
  return absl::DataLossError(
      absl::StrCat("'", shard.path(), "': row ", row, ", at byte ", begin, ", ",
                   Absl(what), "; the shard is damaged, copy it again"));
}

struct Row {
  uint64_t tokens = 0;
  uint64_t offset = 0;  // of its ids, from the row's beginning
  StoredType type = StoredType::kI64;
  uint32_t axes = 1;
};

// Reads the head of an array that has `bytes` bytes from `at` on.
absl::Status ReadArrayHead(const InputBytes& shard, uint64_t number,
                           uint64_t begin, uint64_t at, uint64_t bytes,
                           const MdsTokenColumn& column, Row* row) {
  std::array<std::byte, 2> first;
  const uint64_t first_bytes = column.kind == Kind::kAny ? 2 : 1;
  if (bytes < first_bytes) {
    return RowError(
        shard, number, begin,
        absl::StrCat("has an array of ", bytes, " bytes, without a head"));
  }
  PONIENTE_RETURN_IF_ERROR(
      shard.ReadAt(at, std::span(first).first(first_bytes)));
  if (column.kind == Kind::kAny) {
    const auto code = static_cast<uint8_t>(first[0]);
    const std::span<const MdsArrayType> types = MdsArrayTypes();
    const auto known =
        std::find_if(types.begin(), types.end(),
                     [&](const MdsArrayType& t) { return t.code == code; });
    if (known == types.end()) {
      return RowError(shard, number, begin,
                      absl::StrCat("has an array of type ", code,
                                   ", which is not an integer type"));
    }
    row->type = known->type;
  }
  const auto axes_byte = static_cast<uint8_t>(first[first_bytes - 1]);
  row->axes = axes_byte >> 2;
  const uint64_t width = uint64_t{1} << (axes_byte & 3);
  std::array<std::byte, 64 * 8> lengths{};
  const uint64_t head = first_bytes + row->axes * width;
  row->tokens = 1;
  if (head <= bytes) {
    PONIENTE_RETURN_IF_ERROR(shard.ReadAt(
        at + first_bytes, std::span(lengths).first(row->axes * width)));
    for (uint32_t i = 0; i < row->axes; ++i) {
      std::array<std::byte, 8> one{};
      std::copy_n(lengths.begin() + i * width, width, one.begin());
      const uint64_t length = LoadLittle<uint64_t>(one.data());
      if (length != 0 && row->tokens > bytes / length) {
        row->tokens = bytes + 1;
        break;
      }
      row->tokens *= length;
    }
  }
  if (head > bytes ||
      row->tokens != (bytes - head) / StoredTypeBytes(row->type) ||
      (bytes - head) % StoredTypeBytes(row->type) != 0) {
    return RowError(
        shard, number, begin,
        absl::StrCat("has an array of ", row->axes, " axes and ", bytes,
                     " bytes, which the lengths in its head contradict"));
  }
  row->offset = at + head - begin;
  return absl::OkStatus();
}

// Reads the sizes and the head of a row of `bytes` bytes from `begin` on. Reads
// at ascending offsets only.
absl::StatusOr<Row> ReadRow(const InputBytes& shard, uint64_t number,
                            uint64_t begin, uint64_t bytes,
                            const MdsTokenColumn& column) {
  std::vector<std::byte> words(column.SizeWords() * sizeof(uint32_t));
  if (words.size() > bytes) {
    return RowError(shard, number, begin,
                    absl::StrCat("has ", bytes, " bytes, expected at least ",
                                 words.size()));
  }
  PONIENTE_RETURN_IF_ERROR(shard.ReadAt(begin, words));
  uint64_t end = words.size();
  uint64_t at = 0;
  uint64_t own = 0;
  const std::byte* word = words.data();
  for (size_t i = 0; i < column.sizes.size(); ++i) {
    uint64_t size = 0;
    if (column.sizes[i]) {
      size = *column.sizes[i];
    } else {
      size = LoadLittle<uint32_t>(word);
      word += sizeof(uint32_t);
    }
    if (i == column.place) {
      at = end;
      own = size;
    }
    end += size;
  }
  if (end != bytes) {
    return RowError(shard, number, begin,
                    absl::StrCat("has ", bytes, " bytes, its columns ", end));
  }
  Row row;
  row.type = column.type;
  row.offset = at;
  if (column.kind == Kind::kFixed) {
    row.tokens = column.tokens;
  } else if (column.kind == Kind::kBytes) {
    const std::optional<uint64_t> tokens =
        TokensIn(own, column.kind, column.type);
    if (!tokens) {
      return absl::DataLossError(absl::StrCat(
          "'", shard.path(), "': row ", number, ", at byte ", begin, ", has ",
          own, " bytes in column '", OneLine(column.name),
          "', no whole number of ", Absl(StoredTypeName(column.type)),
          "; state the dtype that it was written in"));
    }
    row.tokens = *tokens;
  } else {
    PONIENTE_RETURN_IF_ERROR(
        ReadArrayHead(shard, number, begin, begin + at, own, column, &row));
  }
  return row;
}

// A shard's table: where the first row begins, and the size of each row.
struct RowEnds {
  uint64_t begin = 0;
  CompactEnds bytes;
};

absl::StatusOr<RowEnds> ReadTable(const InputBytes& shard, uint64_t rows) {
  std::array<std::byte, 4> count;
  PONIENTE_RETURN_IF_ERROR(shard.ReadAt(0, count));
  if (LoadLittle<uint32_t>(count.data()) != rows) {
    return absl::DataLossError(absl::StrCat(
        "'", shard.path(), "' at byte 0 says it has ",
        LoadLittle<uint32_t>(count.data()), " rows, its index.json says ", rows,
        "; they are not of one dataset, or damaged"));
  }
  if (shard.size() / 4 < rows + 2) {
    return absl::DataLossError(absl::StrCat(
        "'", shard.path(), "' has ", shard.size(), " bytes, its table of ",
        rows, " rows needs ", 4 * (rows + 2), "; copy it again"));
  }
  RowEnds table;
  uint64_t number = 0;
  uint64_t last = 4 * (rows + 2);
  const auto take = [&](uint32_t offset) {
    if (offset < last || offset > shard.size()) {
      return absl::DataLossError(absl::StrCat(
          "'", shard.path(), "': row ", number, ", by byte ", 4 * (1 + number),
          ", begins at byte ", offset, ", expected one from ", last, " to ",
          shard.size(), "; the shard is damaged, or greater than 4 GiB"));
    }
    if (number == 0) {
      table.begin = offset;
    } else {
      table.bytes.Append(offset - last);
    }
    ++number;
    last = offset;
    return absl::OkStatus();
  };
  PONIENTE_RETURN_IF_ERROR(ForEachInteger<uint32_t>(shard, 4, rows + 1, take));
  if (last != shard.size()) {
    return absl::DataLossError(
        absl::StrCat("'", shard.path(), "': its last row ends at byte ", last,
                     ", the file at ", shard.size(), "; copy it again"));
  }
  return table;
}

absl::Status CheckRowType(const InputBytes& shard, uint64_t number,
                          StoredType type, MdsRows* all) {
  if (!all->type) all->type = type;
  if (*all->type == type) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "'", shard.path(), "': row ", number, " holds ",
      Absl(StoredTypeName(type)), ", the rows before it, or the stated dtype, ",
      "are ", Absl(StoredTypeName(*all->type)),
      "; ids of one type in all rows are read"));
}

// Returns the bytes of the column in a row of `bytes` bytes; nullopt if the row
// is too small. REQUIRES: no other column varies in size.
std::optional<uint64_t> OwnBytes(const MdsTokenColumn& column, uint64_t bytes) {
  const uint64_t others =
      column.SizeWords() * sizeof(uint32_t) + column.FixedBytes();
  if (bytes < others) return std::nullopt;
  return bytes - others;
}

// Returns whether the number of tokens of each row follows from the row's size.
bool SizesSuffice(const RowEnds& table, const MdsTokenColumn& column,
                  const Row& first) {
  if (!column.FollowsFromSizes() || first.axes != 1) return false;
  for (uint64_t i = 0; i < table.bytes.size(); ++i) {
    const std::optional<uint64_t> own = OwnBytes(column, table.bytes.Length(i));
    if (!own || !TokensIn(*own, column.kind, first.type)) return false;
  }
  return true;
}

uint64_t BytesBefore(const MdsTokenColumn& column) {
  uint64_t before = column.SizeWords() * sizeof(uint32_t);
  for (uint32_t i = 0; i < column.place; ++i) before += *column.sizes[i];
  return before;
}

}  // namespace

absl::Status AppendMdsRows(const InputBytes& shard, uint64_t rows,
                           const MdsTokenColumn& column, MdsRows* all,
                           bool* unread) {
  *unread = false;
  PONIENTE_ASSIGN_OR_RETURN(const RowEnds table, ReadTable(shard, rows));
  if (rows == 0) return absl::OkStatus();
  PONIENTE_ASSIGN_OR_RETURN(
      const Row first,
      ReadRow(shard, 0, table.begin, table.bytes.Length(0), column));
  const bool derive = SizesSuffice(table, column, first);
  const bool constant = column.SizeWords() == 0;
  *unread = derive;
  uint64_t begin = table.begin;
  uint64_t end_of_ids = 0;
  for (uint64_t i = 0; i < rows; ++i) {
    const uint64_t bytes = table.bytes.Length(i);
    Row row = first;
    if (derive) {
      row.tokens = *TokensIn(*OwnBytes(column, bytes), column.kind, first.type);
      row.offset = BytesBefore(column) + HeadBytes(column.kind, row.tokens);
    } else if (!constant || bytes != table.bytes.Length(0)) {
      PONIENTE_ASSIGN_OR_RETURN(row, ReadRow(shard, i, begin, bytes, column));
    }
    PONIENTE_RETURN_IF_ERROR(CheckRowType(shard, i, row.type, all));
    all->gaps.Append(begin + row.offset - end_of_ids);
    all->tokens.Append(row.tokens);
    end_of_ids = begin + row.offset + row.tokens * StoredTypeBytes(row.type);
    begin += bytes;
  }
  return absl::OkStatus();
}

absl::Status CheckMdsRow(const InputBytes& shard, uint64_t row,
                         const MdsTokenColumn& column, StoredType type,
                         uint64_t offset, uint64_t tokens) {
  const std::vector<std::byte> expected =
      ArrayHeadOf(column.kind, type, tokens);
  const uint64_t before = BytesBefore(column);
  const uint64_t begin = offset - expected.size() - before;
  std::array<std::byte, 4> word;
  PONIENTE_RETURN_IF_ERROR(shard.ReadAt(begin, word));
  const uint64_t bytes = expected.size() + tokens * StoredTypeBytes(type);
  if (LoadLittle<uint32_t>(word.data()) != bytes) {
    return RowError(shard, row, begin,
                    absl::StrCat("says that column '", OneLine(column.name),
                                 "' has ", LoadLittle<uint32_t>(word.data()),
                                 " bytes, the size of the row leaves ", bytes));
  }
  std::vector<std::byte> head(expected.size());
  PONIENTE_RETURN_IF_ERROR(shard.ReadAt(offset - head.size(), head));
  if (head == expected) return absl::OkStatus();
  return RowError(shard, row, begin,
                  absl::StrCat("has an array whose head is not that of ",
                               tokens, " ", Absl(StoredTypeName(type)),
                               " in one axis, as its ", bytes, " bytes mean"));
}

}  // namespace poniente::internal
