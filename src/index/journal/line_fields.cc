// SPDX-License-Identifier: Apache-2.0
#include "index/journal/line_fields.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "util/one_line.h"
#include "util/status_macros.h"

namespace poniente::internal {

std::string QuotedField(std::string_view text) {
  return absl::StrCat("\"", absl::Utf8SafeCHexEscape(Absl(text)), "\"");
}

std::string NumberField(double number) {
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  std::array<char, 32> text;
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), number);
  return std::string(text.data(), end.ptr);
}

size_t TableLength(std::string_view text) {
  if (text.empty() || text.front() != '{') return 0;
  size_t depth = 0;
  char quote = 0;  // of the text that the place lies in
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      // Only texts in double quotes have escapes.
      if (c == '\\' && quote == '"') ++i;
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      return i + 1;
    }
  }
  return 0;
}

bool LineFields::HasNumber() const {
  return !rest_.empty() &&
         absl::ascii_isdigit(static_cast<unsigned char>(rest_.front()));
}

absl::StatusOr<std::string> LineFields::Word(absl::string_view what) {
  if (rest_.empty()) return Missing(what);
  if (rest_.front() == '"') return Missing(what);
  const size_t end = std::min(rest_.find(' '), rest_.size());
  std::string word(rest_.substr(0, end));
  Pass(end);
  return word;
}

absl::Status LineFields::Expect(absl::string_view word) {
  PONIENTE_ASSIGN_OR_RETURN(const std::string got,
                            Word(absl::StrCat("'", word, "'")));
  if (got == word) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("expected '", word, "', got '", got, "'"));
}

absl::StatusOr<uint64_t> LineFields::Count(absl::string_view what) {
  PONIENTE_ASSIGN_OR_RETURN(const std::string word, Word(what));
  uint64_t count = 0;
  if (absl::SimpleAtoi(word, &count)) return count;
  return absl::InvalidArgumentError(
      absl::StrCat("expected ", what, ", got '", word, "'"));
}

absl::StatusOr<double> LineFields::Number(absl::string_view what) {
  PONIENTE_ASSIGN_OR_RETURN(const std::string word, Word(what));
  double number = 0;
  if (absl::SimpleAtod(word, &number) && !std::isnan(number)) return number;
  return absl::InvalidArgumentError(
      absl::StrCat("expected ", what, ", got '", word, "'"));
}

absl::StatusOr<std::string> LineFields::Text(absl::string_view what) {
  if (!HasText()) return Missing(what);
  size_t end = 1;
  while (end < rest_.size() && rest_[end] != '"') {
    end += rest_[end] == '\\' ? 2 : 1;
  }
  std::string text;
  if (end >= rest_.size() ||
      !absl::CUnescape(absl::string_view(rest_.data() + 1, end - 1), &text)) {
    return Missing(what);
  }
  Pass(end + 1);
  return text;
}

absl::StatusOr<std::string> LineFields::Table(absl::string_view what) {
  const size_t length = TableLength(rest_);
  if (length == 0) return Missing(what);
  std::string table(rest_.substr(0, length));
  Pass(length);
  return table;
}

absl::StatusOr<uint64_t> LineFields::Fingerprint(absl::string_view what) {
  PONIENTE_ASSIGN_OR_RETURN(const std::string word, Word(what));
  uint64_t print = 0;
  if (word.size() == 16 && absl::SimpleHexAtoi(word, &print)) return print;
  return absl::InvalidArgumentError(
      absl::StrCat("expected ", what, ", got '", word, "'"));
}

absl::Status LineFields::Missing(absl::string_view what) const {
  return absl::InvalidArgumentError(
      absl::StrCat("expected ", what, " at '", rest(), "'"));
}

void LineFields::Pass(size_t bytes) {
  rest_.remove_prefix(bytes);
  runs_together_ |= !rest_.empty() && rest_.front() != ' ';
  while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
}

}  // namespace poniente::internal
