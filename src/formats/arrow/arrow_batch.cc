// SPDX-License-Identifier: Apache-2.0
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

absl::Status DamagedBatch(std::string_view what) {
  return absl::DataLossError(
      absl::StrCat(Absl(what),
                   " is damaged: a table or vector leads out of it; "
                   "fetch the file again"));
}

constexpr uint64_t kPairBytes = 16;  // per node or buffer

struct FieldNode {
  uint64_t length = 0;
  uint64_t nulls = 0;
};

// Returns the two numbers of pair `i`; nullopt if one is negative.
std::optional<std::pair<uint64_t, uint64_t>> PairAt(const FlatElements& pairs,
                                                    uint64_t i) {
  const int64_t first = pairs.Int64(i, kPairBytes, 0);
  const int64_t second = pairs.Int64(i, kPairBytes, 8);
  if (first < 0 || second < 0) return std::nullopt;
  return std::pair(static_cast<uint64_t>(first), static_cast<uint64_t>(second));
}

absl::StatusOr<FieldNode> NodeAt(const FlatElements& nodes, uint64_t i) {
  const auto pair = PairAt(nodes, i);
  if (!pair || pair->second > pair->first) {
    return absl::DataLossError(absl::StrCat(
        "array ", i, " has ", nodes.Int64(i, kPairBytes, 0), " values and ",
        nodes.Int64(i, kPairBytes, 8), " nulls; the file is damaged"));
  }
  return FieldNode{pair->first, pair->second};
}

absl::StatusOr<ArrowBuffer> BufferAt(const FlatElements& buffers, uint64_t i,
                                     uint64_t body_bytes) {
  const auto pair = PairAt(buffers, i);
  if (!pair || pair->first > body_bytes ||
      pair->second > body_bytes - pair->first) {
    return absl::DataLossError(
        absl::StrCat("buffer ", i, " has ", buffers.Int64(i, kPairBytes, 8),
                     " bytes at byte ", buffers.Int64(i, kPairBytes, 0),
                     " of a body of ", body_bytes, "; the file is damaged"));
  }
  return ArrowBuffer{pair->first, pair->second};
}

// Returns how many additional buffers the first `views` arrays have that may
// have any number of them; nullopt if that is more than `most`.
std::optional<uint64_t> ViewBuffers(const FlatElements& counts, uint64_t views,
                                    uint64_t most) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < views; ++i) {
    const int64_t count = counts.Int64(i, sizeof(int64_t), 0);
    if (count < 0 || static_cast<uint64_t>(count) > most - sum) {
      return std::nullopt;
    }
    sum += static_cast<uint64_t>(count);
  }
  return sum;
}

absl::Status CountsDiffer(std::string_view what, uint64_t found,
                          uint64_t expected) {
  return absl::DataLossError(absl::StrCat("the batch has ", found, " ",
                                          Absl(what), ", its schema asks for ",
                                          expected, "; the file is damaged"));
}

// Returns the number of the column's first buffer.
absl::StatusOr<uint64_t> FirstBuffer(const FlatTable& batch,
                                     const ArrowColumn& column,
                                     const FlatElements& nodes,
                                     const FlatElements& buffers) {
  const FlatElements views =
      batch.Elements(arrow::batch::kViewBuffers, sizeof(int64_t));
  if (nodes.size != column.all.nodes) {
    return CountsDiffer("arrays", nodes.size, column.all.nodes);
  }
  if (views.size != column.all.views) {
    return CountsDiffer("numbers of view buffers", views.size,
                        column.all.views);
  }
  const auto in_views = ViewBuffers(views, views.size, buffers.size);
  const uint64_t expected = column.all.buffers + in_views.value_or(0);
  if (!in_views || buffers.size != expected) {
    return CountsDiffer("buffers", buffers.size, expected);
  }
  return column.before.buffers +
         *ViewBuffers(views, column.before.views, buffers.size);
}

absl::Status CheckNulls(const ArrowColumn& column, const FieldNode& rows,
                        const FieldNode& ids) {
  if (rows.nulls == 0 && ids.nulls == 0) return absl::OkStatus();
  const bool in_rows = rows.nulls > 0;
  return absl::InvalidArgumentError(absl::StrCat(
      "column '", OneLine(column.name), "' has ",
      in_rows ? rows.nulls : ids.nulls, in_rows ? " null rows" : " null ids",
      "; drop or fill them and write the data again"));
}

absl::Status TooSmall(std::string_view what, const ArrowBuffer& buffer,
                      uint64_t count) {
  return absl::DataLossError(
      absl::StrCat("a buffer of ", buffer.bytes, " bytes is too small for ",
                   count, " ", Absl(what), "; the file is damaged"));
}

absl::StatusOr<ArrowBatch> BatchOf(const FlatTable& message,
                                   const ArrowColumn& column) {
  const FlatTable batch = message.Child(arrow::message::kHeader);
  if (!batch.exists()) return DamagedBatch("the batch");
  if (const FlatTable compression = batch.Child(arrow::batch::kCompression);
      compression.exists()) {
    return absl::UnimplementedError(absl::StrCat(
        "the batch is compressed (",
        compression.Scalar<int8_t>(0, 0) == 0 ? "lz4" : "zstd",
        "), which is not read; write the data again without compression"));
  }
  const auto body_bytes = static_cast<uint64_t>(
      message.Scalar<int64_t>(arrow::message::kBodyBytes, 0));
  const auto nodes = batch.Elements(arrow::batch::kNodes, kPairBytes);
  const auto buffers = batch.Elements(arrow::batch::kBuffers, kPairBytes);
  PONIENTE_ASSIGN_OR_RETURN(uint64_t next,
                            FirstBuffer(batch, column, nodes, buffers));
  PONIENTE_ASSIGN_OR_RETURN(const FieldNode rows,
                            NodeAt(nodes, column.before.nodes));
  PONIENTE_ASSIGN_OR_RETURN(const FieldNode ids,
                            NodeAt(nodes, column.before.nodes + 1));
  PONIENTE_RETURN_IF_ERROR(CheckNulls(column, rows, ids));
  if (const auto length = batch.Scalar<int64_t>(arrow::batch::kRows, 0);
      static_cast<uint64_t>(length) != rows.length) {
    return absl::DataLossError(
        absl::StrCat("the batch has ", length, " rows, column '",
                     OneLine(column.name), "' has ", rows.length));
  }

  ArrowBatch found;
  found.rows = rows.length;
  found.num_ids = ids.length;
  ++next;  // skips the bitmap of null rows
  if (column.kind != ArrowListKind::kFixedSize) {
    PONIENTE_ASSIGN_OR_RETURN(found.offsets,
                              BufferAt(buffers, next++, body_bytes));
    const uint64_t width = column.kind == ArrowListKind::k32BitOffsets ? 4 : 8;
    if (rows.length > 0 && rows.length >= found.offsets.bytes / width) {
      return TooSmall("row offsets", found.offsets, rows.length + 1);
    }
  } else if (rows.length > ids.length / column.fixed_size) {
    return absl::DataLossError(absl::StrCat(
        rows.length, " rows of ", column.fixed_size, " ids have only ",
        ids.length, " ids; the file is damaged"));
  }
  ++next;  // skips the bitmap of null ids
  PONIENTE_ASSIGN_OR_RETURN(found.ids, BufferAt(buffers, next, body_bytes));
  if (ids.length > found.ids.bytes / StoredTypeBytes(column.type)) {
    return TooSmall("ids", found.ids, ids.length);
  }
  return found;
}

absl::StatusOr<ArrowMessage> MessageOf(const FlatTable& table) {
  const auto version = table.Scalar<int16_t>(arrow::message::kVersion, 0);
  if (version != arrow::kVersion4 && version != arrow::kVersion5) {
    return absl::InvalidArgumentError(absl::StrCat(
        "metadata of version ", version + 1,
        ", expected 4 or 5; write the data again with a recent Arrow"));
  }
  const auto body_bytes = table.Scalar<int64_t>(arrow::message::kBodyBytes, 0);
  if (body_bytes < 0) {
    return absl::DataLossError(
        absl::StrCat("a body of ", body_bytes, " bytes; the file is damaged"));
  }
  ArrowMessage message;
  message.body_bytes = static_cast<uint64_t>(body_bytes);
  switch (table.Scalar<uint8_t>(arrow::message::kHeaderKind, 0)) {
    case 1:
      message.kind = ArrowMessageKind::kSchema;
      break;
    case 2:
      message.kind = ArrowMessageKind::kDictionaries;
      break;
    case 3:
      message.kind = ArrowMessageKind::kRecordBatch;
      break;
    default:
      break;
  }
  return message;
}

}  // namespace

absl::StatusOr<ArrowMessage> ParseArrowMessage(
    std::span<const std::byte> metadata) {
  FlatBuffer buffer(metadata);
  absl::StatusOr<ArrowMessage> message = MessageOf(FlatTable::Root(&buffer));
  if (buffer.is_damaged()) return DamagedBatch("the message");
  return message;
}

absl::StatusOr<ArrowBatch> ParseArrowBatch(std::span<const std::byte> metadata,
                                           const ArrowColumn& column) {
  FlatBuffer buffer(metadata);
  absl::StatusOr<ArrowBatch> batch = BatchOf(FlatTable::Root(&buffer), column);
  if (buffer.is_damaged()) return DamagedBatch("the batch");
  return batch;
}

}  // namespace poniente::internal

#else

namespace poniente::internal {
namespace {

absl::Status NoFlatBuffers() {
  return absl::UnimplementedError(
      "this build cannot read Arrow: build with libflatbuffers-dev");
}

}  // namespace

absl::StatusOr<ArrowMessage> ParseArrowMessage(
    std::span<const std::byte> /*metadata*/) {
  return NoFlatBuffers();
}
absl::StatusOr<ArrowBatch> ParseArrowBatch(
    std::span<const std::byte> /*metadata*/, const ArrowColumn& /*column*/) {
  return NoFlatBuffers();
}

}  // namespace poniente::internal

#endif
