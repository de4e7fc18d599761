// SPDX-License-Identifier: Apache-2.0
#include "formats/arrow/arrow_stream.h"

#include <optional>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "formats/arrow/arrow_metadata.h"
#include "util/byte_order.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr uint32_t kMark = 0xffffffff;  // before each message
constexpr uint64_t kPrefixBytes = 8;    // the mark, and the metadata's length
constexpr std::string_view kFileMagic = "ARROW1";
constexpr uint64_t kFileHeadBytes = 8;   // the magic, padded
constexpr uint64_t kFileTailBytes = 10;  // the footer's length, the magic

class Walk {
 public:
  Walk(const InputBytes& input, std::string_view column, CompactEnds* rows)
      : input_(input), column_name_(column), rows_(rows), end_(input.size()) {}

  absl::StatusOr<ArrowStream> Run() {
    PONIENTE_RETURN_IF_ERROR(FindForm());
    bool has_schema = false;
    for (bool is_last = false; !is_last;) {
      const uint64_t begin = at_;
      const absl::StatusOr<bool> ends = ReadMetadata();
      if (!ends.ok()) return At(begin, ends.status());
      is_last = *ends;
      if (is_last) break;
      const absl::Status taken = Take(begin, &has_schema);
      if (!taken.ok()) return At(begin, taken);
    }
    if (!has_schema) {
      return absl::DataLossError(absl::StrCat(
          "'", input_.path(), "' ends before its schema; fetch it again"));
    }
    PONIENTE_RETURN_IF_ERROR(CheckFooter());
    found_.column = column_.name;
    found_.type = column_.type;
    return std::move(found_);
  }

 private:
  absl::Status At(uint64_t begin, const absl::Status& status) const {
    return Prepend(
        status, absl::StrCat("'", input_.path(), "': message at byte ", begin));
  }

  // Finds out whether the input is a stream or an Arrow file, and where its
  // messages begin and end.
  absl::Status FindForm() {
    PONIENTE_ASSIGN_OR_RETURN(const std::vector<std::byte> head,
                              ReadHead(input_, kFileHeadBytes));
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
        footer_bytes > kMaxArrowMetadataBytes) {
      return absl::DataLossError(
          absl::StrCat("'", input_.path(), "': a footer of ", footer_bytes,
                       " bytes, in a file of ", end_, "; it is damaged"));
    }
    at_ = kFileHeadBytes;
    end_ -= kFileTailBytes + footer_bytes;
    metadata_.resize(footer_bytes);
    PONIENTE_RETURN_IF_ERROR(input_.ReadAt(end_, metadata_));
    auto batches = ParseArrowFooter(metadata_);
    if (!batches.ok()) return At(end_, batches.status());
    footer_ = *std::move(batches);
    return absl::OkStatus();
  }

  // Reads the metadata of the next message. Returns true at the end.
  absl::StatusOr<bool> ReadMetadata() {
    if (at_ == end_ && at_ > 0) {
      if (footer_ == std::nullopt) {
        found_.warnings.push_back(
            absl::StrCat("'", input_.path(),
                         "' has no end mark: batches that followed may "
                         "have been lost"));
      }
      return true;
    }
    if (end_ - at_ < kPrefixBytes) return CutShort(kPrefixBytes);
    std::byte prefix[kPrefixBytes];
    PONIENTE_RETURN_IF_ERROR(input_.ReadAt(at_, prefix));
    if (const auto mark = LoadLittle<uint32_t>(prefix); mark != kMark) {
      return absl::DataLossError(absl::StrCat(
          "begins with ", absl::Hex(mark, absl::kZeroPad8),
          ", expected ffffffff; the file is damaged, is no Arrow stream, or is "
          "of an Arrow before 0.15"));
    }
    const auto bytes = LoadLittle<uint32_t>(prefix + 4);
    at_ += kPrefixBytes;
    if (bytes == 0) {
      if (at_ < end_ && footer_ == std::nullopt) {
        found_.warnings.push_back(absl::StrCat("'", input_.path(),
                                               "': ", end_ - at_,
                                               " bytes after the end mark are "
                                               "not read"));
      }
      return true;
    }
    if (bytes > end_ - at_) return CutShort(bytes);
    if (bytes > kMaxArrowMetadataBytes) {
      return absl::DataLossError(
          absl::StrCat("metadata of ", bytes, " bytes, expected at most ",
                       kMaxArrowMetadataBytes, "; the file is damaged"));
    }
    metadata_.resize(bytes);
    PONIENTE_RETURN_IF_ERROR(input_.ReadAt(at_, metadata_));
    at_ += bytes;
    return false;
  }

  absl::Status CutShort(uint64_t needed) const {
    return absl::DataLossError(absl::StrCat(
        needed, " bytes at byte ", at_, " are expected, but all end at byte ",
        end_, "; the file was cut short, fetch it again"));
  }

  // Handles the message whose metadata was read, and its body.
  absl::Status Take(uint64_t begin, bool* has_schema) {
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
        PONIENTE_RETURN_IF_ERROR(CheckListed(begin));
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

  // In an Arrow file, checks that the batch is the next one in the footer.
  absl::Status CheckListed(uint64_t begin) {
    if (footer_ == std::nullopt) return absl::OkStatus();
    if (batches_ < footer_->size() && (*footer_)[batches_] == begin) {
      ++batches_;
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        absl::StrCat("the footer lists batch ", batches_,
                     batches_ < footer_->size()
                         ? absl::StrCat(" at byte ", (*footer_)[batches_])
                         : " nowhere",
                     "; write the data again, as a stream"));
  }
  absl::Status CheckFooter() const {
    if (footer_ == std::nullopt || footer_->size() == batches_) {
      return absl::OkStatus();
    }
    return absl::DataLossError(absl::StrCat(
        "'", input_.path(), "' has ", batches_, " batches, its footer lists ",
        footer_->size(), "; the file is damaged"));
  }

  const InputBytes& input_;
  const std::string_view column_name_;
  CompactEnds* const rows_;
  uint64_t end_;
  uint64_t at_ = 0;
  std::vector<std::byte> metadata_;
  ArrowColumn column_;
  // Where batches begin, from the footer; nullopt for a stream.
  std::optional<std::vector<uint64_t>> footer_;
  uint64_t batches_ = 0;
  ArrowStream found_;
};

}  // namespace

bool IsArrow(std::span<const std::byte> head) {
  if (BeginsWith(head, kFileMagic)) return true;
  // The mark alone proves nothing, because a file of ids may begin with two ids
  // of 65535. So also checks that the first table and its table of fields have
  // possible offsets.
  if (head.size() < kPrefixBytes + 8) return false;
  if (LoadLittle<uint32_t>(head.data()) != kMark) return false;
  const uint64_t bytes = LoadLittle<uint32_t>(head.data() + 4);
  const uint64_t root = LoadLittle<uint32_t>(head.data() + kPrefixBytes);
  if (bytes % 8 != 0 || bytes < 16 || bytes > kMaxArrowMetadataBytes ||
      root % 4 != 0 || root < 4 || root > bytes - 4) {
    return false;
  }
  head = head.subspan(kPrefixBytes);
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
