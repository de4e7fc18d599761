// SPDX-License-Identifier: Apache-2.0
#include "formats/arrow/arrow_stream.h"

#include <algorithm>
#include <optional>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "formats/arrow/arrow_metadata.h"
#include "util/byte_order.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr uint32_t kMark = 0xffffffff;   // before each message
constexpr uint64_t kPrefixBytes = 8;     // the mark, and the metadata's length
constexpr uint64_t kOldPrefixBytes = 4;  // without the mark
constexpr std::string_view kFileMagic = "ARROW1";
constexpr uint64_t kFileHeadBytes = 8;   // the magic, padded
constexpr uint64_t kFileTailBytes = 10;  // the footer's length, the magic

// Returns whether the first table of a message's metadata, of which `metadata`
// is the beginning and that has `bytes` bytes, has a possible place.
bool HasPossibleTable(std::span<const std::byte> metadata, uint64_t bytes) {
  if (metadata.size() < 4 || bytes < 16 || bytes > kMaxArrowMetadataBytes) {
    return false;
  }
  const uint64_t root = LoadLittle<uint32_t>(metadata.data());
  return root % 4 == 0 && root >= 4 && root <= bytes - 4;
}

// Returns whether a stream that begins with `head` has no marks: until Arrow
// 0.15, a message began with the length of its metadata.
bool BeginsWithOldPrefix(std::span<const std::byte> head) {
  if (head.size() < kOldPrefixBytes + 4) return false;
  const uint64_t bytes = LoadLittle<uint32_t>(head.data());
  return (bytes + kOldPrefixBytes) % 8 == 0 &&
         HasPossibleTable(head.subspan(kOldPrefixBytes), bytes);
}

class Walk {
 public:
  Walk(const InputBytes& input, std::string_view column, CompactEnds* rows)
      : input_(input), column_name_(column), rows_(rows), end_(input.size()) {}

  absl::StatusOr<ArrowStream> Run() {
    PONIENTE_RETURN_IF_ERROR(FindForm());
    PONIENTE_RETURN_IF_ERROR(footer_ ? WalkBlocks() : WalkMessages());
    found_.column = column_.name;
    found_.type = column_.type;
    return std::move(found_);
  }

 private:
  absl::Status At(uint64_t begin, const absl::Status& status) const {
    return Prepend(
        status, absl::StrCat("'", input_.path(), "': message at byte ", begin));
  }

  // Finds out which form the input has, and where its messages end.
  absl::Status FindForm() {
    PONIENTE_ASSIGN_OR_RETURN(const std::vector<std::byte> head,
                              ReadHead(input_, kFileHeadBytes + 8));
    prefix_bytes_ = BeginsWithOldPrefix(head) ? kOldPrefixBytes : kPrefixBytes;
    if (!BeginsWith(head, kFileMagic)) return absl::OkStatus();
    const auto cut_short = [this] {
      return absl::DataLossError(
          absl::StrCat("'", input_.path(),
                       "': Arrow's file form does not end with a footer "
                       "and 'ARROW1'; it was cut short, fetch it again"));
    };
    if (end_ < kFileHeadBytes + kFileTailBytes) return cut_short();
    std::vector<std::byte> tail(kFileTailBytes);
    PONIENTE_RETURN_IF_ERROR(input_.ReadAt(end_ - kFileTailBytes, tail));
    if (!BeginsWith(std::span(tail).subspan(4), kFileMagic)) {
      return cut_short();
    }
    const auto footer_bytes = LoadLittle<uint32_t>(tail.data());
    if (footer_bytes > end_ - kFileHeadBytes - kFileTailBytes ||
        footer_bytes > kMaxArrowFooterBytes) {
      return absl::DataLossError(
          absl::StrCat("'", input_.path(), "': a footer of ", footer_bytes,
                       " bytes, in a file of ", end_, "; it is damaged"));
    }
    at_ = kFileHeadBytes;
    end_ -= kFileTailBytes + footer_bytes;
    std::vector<std::byte> bytes(footer_bytes);
    PONIENTE_RETURN_IF_ERROR(input_.ReadAt(end_, bytes));
    auto footer = ParseArrowFooter(bytes, column_name_);
    if (!footer.ok()) {
      return Prepend(footer.status(), absl::StrCat("'", input_.path(),
                                                   "': footer at byte ", end_));
    }
    footer_ = *std::move(footer);
    column_ = footer_->column;
    return absl::OkStatus();
  }

  // Reads a stream: its messages follow each other.
  absl::Status WalkMessages() {
    bool has_schema = false;
    while (true) {
      const uint64_t begin = at_;
      const absl::StatusOr<bool> is_last = ReadMetadata();
      if (!is_last.ok()) return At(begin, is_last.status());
      if (*is_last) break;
      const absl::Status taken = Take(&has_schema);
      if (!taken.ok()) return At(begin, taken);
    }
    if (has_schema) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat(
        "'", input_.path(), "' ends before its schema; fetch it again"));
  }

  // Reads an Arrow file: its footer says where batches lie. Anything else may
  // lie between them, such as bytes that align them, or the schema in a form of
  // the writer's own.
  absl::Status WalkBlocks() {
    for (batch_ = 0; batch_ < footer_->batches.size(); ++batch_) {
      const ArrowBlock& block = footer_->batches[batch_];
      // Because batches ascend and lie within the file, their number and the
      // time to read them are bounded by the size of the file.
      if (block.offset < at_ || block.offset > end_ ||
          block.metadata_bytes > end_ - block.offset ||
          block.body_bytes > end_ - block.offset - block.metadata_bytes) {
        return absl::DataLossError(absl::StrCat(
            "'", input_.path(), "' has ", batch_, " batches, its footer lists ",
            footer_->batches.size(), ": batch ", batch_, ", of ",
            block.metadata_bytes, " and ", block.body_bytes, " bytes at byte ",
            block.offset, ", does not lie between byte ", at_, " and byte ",
            end_, "; the file is damaged"));
      }
      PONIENTE_RETURN_IF_ERROR(CheckGap(block.offset));
      const absl::Status taken = TakeBlock(block);
      if (!taken.ok()) return At(block.offset, taken);
    }
    return CheckGap(end_);
  }

  // Checks that from at_ to `end` there is no batch, which the footer would
  // have forgotten. Reads messages as long as there are any.
  absl::Status CheckGap(uint64_t end) {
    while (end - at_ >= kPrefixBytes) {
      std::byte prefix[kPrefixBytes];
      PONIENTE_RETURN_IF_ERROR(input_.ReadAt(at_, prefix));
      const auto bytes = LoadLittle<uint32_t>(prefix + 4);
      if (LoadLittle<uint32_t>(prefix) != kMark || bytes == 0 ||
          bytes > std::min(end - at_ - kPrefixBytes, kMaxArrowMetadataBytes)) {
        break;
      }
      PONIENTE_RETURN_IF_ERROR(Load(at_ + kPrefixBytes, bytes));
      const auto message = ParseArrowMessage(metadata_);
      if (!message.ok()) break;
      if (message->kind == ArrowMessageKind::kRecordBatch) {
        const bool has_more = batch_ < footer_->batches.size();
        return absl::InvalidArgumentError(absl::StrCat(
            "'", input_.path(), "': message at byte ", at_,
            ": the footer lists batch ", batch_,
            has_more
                ? absl::StrCat(" at byte ", footer_->batches[batch_].offset)
                : " nowhere",
            "; write the data again, as a stream"));
      }
      at_ += kPrefixBytes + bytes;
      if (message->body_bytes > end - at_) break;
      at_ += message->body_bytes;
    }
    return absl::OkStatus();
  }

  // Handles a record batch that the footer lists within the file.
  absl::Status TakeBlock(const ArrowBlock& block) {
    std::byte prefix[kPrefixBytes];
    if (block.metadata_bytes < kPrefixBytes) return NoMetadata(block, 0);
    PONIENTE_RETURN_IF_ERROR(input_.ReadAt(block.offset, prefix));
    const bool is_old = LoadLittle<uint32_t>(prefix) != kMark;
    const uint64_t before = is_old ? kOldPrefixBytes : kPrefixBytes;
    const auto bytes = LoadLittle<uint32_t>(prefix + before - 4);
    if (bytes == 0 || bytes > block.metadata_bytes - before) {
      return NoMetadata(block, bytes);
    }
    PONIENTE_RETURN_IF_ERROR(Load(block.offset + before, bytes));
    PONIENTE_ASSIGN_OR_RETURN(const ArrowMessage message,
                              ParseArrowMessage(metadata_));
    if (message.kind != ArrowMessageKind::kRecordBatch ||
        message.body_bytes > block.body_bytes) {
      return absl::DataLossError(
          absl::StrCat("the footer lists batch ", batch_, " with a body of ",
                       block.body_bytes, " bytes; there is ",
                       message.kind == ArrowMessageKind::kRecordBatch
                           ? absl::StrCat("one of ", message.body_bytes)
                           : std::string("another message"),
                       "; the file is damaged"));
    }
    at_ = block.offset + block.metadata_bytes;
    PONIENTE_ASSIGN_OR_RETURN(const ArrowBatch batch,
                              ParseArrowBatch(metadata_, column_));
    PONIENTE_RETURN_IF_ERROR(AddRows(batch));
    at_ += block.body_bytes;
    return absl::OkStatus();
  }

  absl::Status NoMetadata(const ArrowBlock& block, uint64_t bytes) const {
    return absl::DataLossError(
        absl::StrCat("the footer lists batch ", batch_, " with metadata of ",
                     block.metadata_bytes, " bytes; there are ", bytes,
                     ", and the bytes before them; the file is damaged"));
  }

  absl::Status Load(uint64_t offset, uint64_t bytes) {
    if (bytes > kMaxArrowMetadataBytes) {
      return absl::DataLossError(
          absl::StrCat("metadata of ", bytes, " bytes, expected at most ",
                       kMaxArrowMetadataBytes, "; the file is damaged"));
    }
    metadata_.resize(bytes);
    return input_.ReadAt(offset, metadata_);
  }

  // Reads the metadata of the next message. Returns true at the end.
  absl::StatusOr<bool> ReadMetadata() {
    if (at_ == end_ && at_ > 0) {
      found_.warnings.push_back(
          absl::StrCat("'", input_.path(),
                       "' has no end mark: batches that followed may "
                       "have been lost"));
      return true;
    }
    if (end_ - at_ < prefix_bytes_) return CutShort(prefix_bytes_);
    std::byte prefix[kPrefixBytes];
    PONIENTE_RETURN_IF_ERROR(
        input_.ReadAt(at_, std::span(prefix).first(prefix_bytes_)));
    if (const auto mark = LoadLittle<uint32_t>(prefix);
        prefix_bytes_ == kPrefixBytes && mark != kMark) {
      return absl::DataLossError(absl::StrCat(
          "begins with ", absl::Hex(mark, absl::kZeroPad8),
          ", expected ffffffff; the file is damaged or is no Arrow stream"));
    }
    const auto bytes = LoadLittle<uint32_t>(prefix + prefix_bytes_ - 4);
    at_ += prefix_bytes_;
    if (bytes == 0) {
      if (at_ < end_) {
        found_.warnings.push_back(absl::StrCat("'", input_.path(),
                                               "': ", end_ - at_,
                                               " bytes after the end mark are "
                                               "not read"));
      }
      return true;
    }
    if (bytes > end_ - at_) return CutShort(bytes);
    PONIENTE_RETURN_IF_ERROR(Load(at_, bytes));
    at_ += bytes;
    return false;
  }

  absl::Status CutShort(uint64_t needed) const {
    return absl::DataLossError(absl::StrCat(
        needed, " bytes at byte ", at_, " are expected, but all end at byte ",
        end_, "; the file was cut short, fetch it again"));
  }

  // Handles the message whose metadata was read, and its body.
  absl::Status Take(bool* has_schema) {
    PONIENTE_ASSIGN_OR_RETURN(const ArrowMessage message,
                              ParseArrowMessage(metadata_));
    if (message.body_bytes > end_ - at_) return CutShort(message.body_bytes);
    const bool is_schema = message.kind == ArrowMessageKind::kSchema;
    if (is_schema == *has_schema) {
      return absl::DataLossError(is_schema
                                     ? "a second schema; the file is damaged"
                                     : "no schema before it; the file is "
                                       "damaged");
    }
    switch (message.kind) {
      case ArrowMessageKind::kSchema: {
        PONIENTE_ASSIGN_OR_RETURN(column_,
                                  ParseArrowSchema(metadata_, column_name_));
        *has_schema = true;
        break;
      }
      case ArrowMessageKind::kRecordBatch: {
        PONIENTE_ASSIGN_OR_RETURN(const ArrowBatch batch,
                                  ParseArrowBatch(metadata_, column_));
        PONIENTE_RETURN_IF_ERROR(AddRows(batch));
        break;
      }
      case ArrowMessageKind::kDictionaries:
        break;
      case ArrowMessageKind::kOther:
        return absl::InvalidArgumentError(
            "is neither schema, dictionary nor record batch; write the data as "
            "a table");
    }
    at_ += message.body_bytes;
    return absl::OkStatus();
  }

  absl::Status AddRows(const ArrowBatch& batch) {
    uint64_t first = 0;
    uint64_t tokens = 0;
    if (column_.kind == ArrowListKind::kFixedSize) {
      for (uint64_t i = 0; i < batch.rows; ++i) {
        rows_->Append(column_.fixed_size);
      }
      tokens = batch.rows * column_.fixed_size;
    } else if (batch.rows > 0) {
      PONIENTE_ASSIGN_OR_RETURN(const TokenRange range,
                                column_.kind == ArrowListKind::k32BitOffsets
                                    ? AddRowsByOffsets<uint32_t>(batch)
                                    : AddRowsByOffsets<uint64_t>(batch));
      first = range.begin;
      tokens = range.size();
    }
    found_.rows += batch.rows;
    found_.tokens += tokens;
    if (tokens == 0) return absl::OkStatus();
    found_.runs.push_back(
        {at_ + batch.ids.offset + first * StoredTypeBytes(column_.type),
         tokens});
    return absl::OkStatus();
  }

  // Appends the lengths of the batch's rows. Returns which of the batch's ids
  // belong to rows.
  template <class Offset>
  absl::StatusOr<TokenRange> AddRowsByOffsets(const ArrowBatch& batch) {
    TokenRange range;
    uint64_t row = 0;
    const auto add = [&](Offset offset) -> absl::Status {
      if (offset > batch.num_ids || (row > 0 && offset < range.end)) {
        return absl::DataLossError(absl::StrCat(
            "row ", row == 0 ? 0 : row - 1, row == 0 ? " begins" : " ends",
            " at id ", static_cast<std::make_signed_t<Offset>>(offset), " of ",
            batch.num_ids, row == 0 ? "" : ", after it began at ",
            row == 0 ? "" : absl::StrCat(range.end), "; the file is damaged"));
      }
      if (row == 0) range.begin = offset;
      if (row > 0) rows_->Append(offset - range.end);
      range.end = offset;
      ++row;
      return absl::OkStatus();
    };
    PONIENTE_RETURN_IF_ERROR(ForEachInteger<Offset>(
        input_, at_ + batch.offsets.offset, batch.rows + 1, add));
    return range;
  }

  const InputBytes& input_;
  const std::string_view column_name_;
  CompactEnds* const rows_;
  uint64_t end_;
  // The next message of a stream; in a file, the end of the batch before.
  // While AddRows() runs, the body of the batch.
  uint64_t at_ = 0;
  uint64_t prefix_bytes_ = kPrefixBytes;  // of a stream's messages
  std::vector<std::byte> metadata_;
  ArrowColumn column_;
  std::optional<ArrowFooter> footer_;  // nullopt for a stream
  uint64_t batch_ = 0;                 // the number of the next, in footer_
  ArrowStream found_;
};

}  // namespace

bool IsArrow(std::span<const std::byte> head) {
  if (BeginsWith(head, kFileMagic)) return true;
  if (BeginsWithOldPrefix(head)) {
    // A length proves nothing, so the head must hold all of a schema.
    const uint64_t bytes = LoadLittle<uint32_t>(head.data());
    head = head.subspan(kOldPrefixBytes);
    if (bytes > head.size()) return false;
    const std::vector<std::byte> metadata(
        head.begin(), head.begin() + static_cast<ptrdiff_t>(bytes));
    const auto message = ParseArrowMessage(metadata);
    return message.ok() && message->kind == ArrowMessageKind::kSchema;
  }
  // The mark alone proves nothing, because a file of ids may begin with two ids
  // of 65535. So also checks that the first table and its table of fields have
  // possible offsets.
  if (head.size() < kPrefixBytes + 8) return false;
  if (LoadLittle<uint32_t>(head.data()) != kMark) return false;
  const uint64_t bytes = LoadLittle<uint32_t>(head.data() + 4);
  head = head.subspan(kPrefixBytes);
  if (bytes % 8 != 0 || !HasPossibleTable(head, bytes)) return false;
  const uint64_t root = LoadLittle<uint32_t>(head.data());
  if (root + 4 > head.size()) return true;
  const uint64_t fields = root - LoadLittle<uint32_t>(&head[root]);
  return fields % 2 == 0 && (fields & 0xffffffff) < bytes;
}

absl::StatusOr<ArrowStream> ParseArrowStream(const InputBytes& input,
                                             std::string_view column,
                                             CompactEnds* rows) {
  return Walk(input, column, rows).Run();
}

}  // namespace poniente::internal
