// SPDX-License-Identifier: Apache-2.0
#include "formats/dolma/dolma_rows.h"

#include <charconv>

#include "absl/strings/str_cat.h"
#include "util/one_line.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr size_t kMaxDigits = 20;
constexpr size_t kMaxDolmaNameBytes = size_t{1} << 20;
// Number of rows after which the memory that they need is checked.
constexpr uint64_t kRowsAtOnce = 4096;
constexpr std::string_view kLabels[] = {"start", "end", "id", "src", "loc"};

}  // namespace

absl::Status DolmaRows::Error(std::string_view what) const {
  return absl::DataLossError(absl::StrCat("'", input_.path(), "' line ",
                                          row_line_, ": ", Absl(what),
                                          "; copy it again, or make it anew"));
}

absl::Status DolmaRows::Add(char c) {
  if (field_ >= fields_.size()) return absl::OkStatus();  // EndField() fails
  if (field_ >= 2 && !keeps_names_) return absl::OkStatus();
  std::string& field = fields_[field_];
  if (field_ < 2 && field.size() == kMaxDigits) {
    return Error(absl::StrCat(Absl(kLabels[field_]), " is '", OneLine(field),
                              "...', expected a number of tokens"));
  }
  if (field.size() == kMaxDolmaNameBytes) {
    return Error(absl::StrCat(Absl(kLabels[field_]), " has more than ",
                              kMaxDolmaNameBytes, " bytes"));
  }
  field += c;
  return absl::OkStatus();
}

absl::Status DolmaRows::EndField() {
  state_ = State::kFieldBegins;
  if (++field_ <= fields_.size()) return absl::OkStatus();
  return Error(
      "more than 5 fields, expected start,end or start,end,id,src,loc");
}

absl::StatusOr<bool> DolmaRows::Take(char c) {
  const bool ends_line = c == '\n' || c == '\r';
  if (c == '\n') ++line_;
  if (state_ == State::kQuoted) {
    if (c != '"') {
      PONIENTE_RETURN_IF_ERROR(Add(c));
    } else {
      state_ = State::kQuoteInQuoted;
    }
    return false;
  }
  if (ends_line || c == ',') {
    const bool is_blank = ends_line && field_ == 0 && fields_[0].empty() &&
                          state_ == State::kFieldBegins;
    if (is_blank) {
      row_line_ = line_;
      return false;
    }
    PONIENTE_RETURN_IF_ERROR(EndField());
    return ends_line;
  }
  if (c == '"' && state_ != State::kPlain) {
    if (state_ == State::kQuoteInQuoted) PONIENTE_RETURN_IF_ERROR(Add(c));
    state_ = State::kQuoted;
    return false;
  }
  state_ = State::kPlain;
  PONIENTE_RETURN_IF_ERROR(Add(c));
  return false;
}

absl::StatusOr<uint64_t> DolmaRows::ParseNumber(size_t field) const {
  const std::string& text = fields_[field];
  const char* end = text.data() + text.size();
  uint64_t number = 0;
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec == std::errc() && parsed.ptr == end) return number;
  return Error(absl::StrCat(Absl(kLabels[field]), " is '", OneLine(text),
                            "', expected a number of tokens"));
}

absl::Status DolmaRows::Finish(DolmaRow* row) {
  if (field_ < 2) {
    return Error(absl::StrCat(
        field_, " field, expected start,end or start,end,id,src,loc"));
  }
  row->line = row_line_;
  PONIENTE_ASSIGN_OR_RETURN(row->start, ParseNumber(0));
  PONIENTE_ASSIGN_OR_RETURN(row->end, ParseNumber(1));
  if (row->start > row->end) {
    return Error(absl::StrCat("the document begins at token ", row->start,
                              " and ends at ", row->end));
  }
  row->has_name = field_ > 2;
  row->name.clear();
  for (size_t field = 2; keeps_names_ && field < field_; ++field) {
    absl::StrAppend(&row->name, field > 2 ? " " : "", Absl(kLabels[field]), "=",
                    fields_[field]);
  }
  for (std::string& field : fields_) field.clear();
  field_ = 0;
  row_line_ = line_;
  return absl::OkStatus();
}

absl::StatusOr<bool> DolmaRows::Next(DolmaRow* row) {
  while (true) {
    for (size_t i = 0; i < left_.size(); ++i) {
      PONIENTE_ASSIGN_OR_RETURN(const bool ends, Take(left_[i]));
      if (!ends) continue;
      left_ = left_.substr(i + 1);
      PONIENTE_RETURN_IF_ERROR(Finish(row));
      return true;
    }
    PONIENTE_ASSIGN_OR_RETURN(left_, text_.Next());
    if (!left_.empty()) continue;
    if (state_ == State::kQuoted) return Error("it ends within quotes");
    if (field_ == 0 && state_ == State::kFieldBegins) return false;
    PONIENTE_RETURN_IF_ERROR(EndField());
    PONIENTE_RETURN_IF_ERROR(Finish(row));
    return true;
  }
}

absl::StatusOr<DolmaTable> ReadDolmaTable(const InputBytes& input,
                                          uint64_t most_tokens,
                                          uint64_t most_memory) {
  DolmaTable table;
  DolmaRows rows(input, /*keeps_names=*/false);
  DolmaRow row;
  const auto error = [&](std::string_view what, uint64_t found,
                         std::string_view expected, uint64_t bound) {
    return absl::DataLossError(absl::StrCat(
        "'", input.path(), "' line ", row.line, ": the document ", Absl(what),
        " token ", found, ", expected ", Absl(expected), " ", bound,
        "; copy both files again, or make them anew"));
  };
  while (true) {
    PONIENTE_ASSIGN_OR_RETURN(const bool is_row, rows.Next(&row));
    if (!is_row) break;
    if (row.start > table.lengths.total()) {
      return absl::DataLossError(absl::StrCat(
          "'", input.path(), "' line ", row.line,
          ": the document begins at token ", row.start,
          ", expected where the one before ends, ", table.lengths.total(), "; ",
          row.start - table.lengths.total(),
          " tokens between them are in no document: rows of the table are "
          "missing, or its writer left a gap of zeros; make both files anew, "
          "or read the .npy without the table (format raw, with a dtype)"));
    }
    if (row.start < table.lengths.total()) {
      return error("begins at", row.start, "where the one before ends,",
                   table.lengths.total());
    }
    if (row.end > most_tokens) {
      return error("ends at", row.end, "at most", most_tokens);
    }
    table.lengths.Append(row.end - row.start);
    table.line = row.line;
    table.has_names = table.has_names || row.has_name;
    if (table.lengths.size() % kRowsAtOnce == 0 &&
        table.lengths.memory_bytes() > most_memory) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "'", input.path(), "' has ", table.lengths.size(),
          " rows up to line ", row.line, ", most of them of no tokens (",
          table.lengths.total(), " in all): too many to keep; make it anew"));
    }
  }
  table.lengths.Shrink();
  return table;
}

}  // namespace poniente::internal
