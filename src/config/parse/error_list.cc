// SPDX-License-Identifier: Apache-2.0
#include "config/parse/error_list.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "util/alike_lines.h"
#include "util/one_line.h"

namespace poniente::internal {

void ErrorList::Add(const SourceLocation& location, std::string_view message) {
  if (is_full()) {
    ++further_;
    return;
  }
  SourceLocation shown = location;
  shown.key = OneLine(location.key);
  const std::string text = OneLine(message);
  for (const Error& error : errors_) {
    const bool is_same = error.location.line == location.line &&
                         error.location.column == location.column &&
                         error.location.key == shown.key &&
                         error.message == text;
    if (is_same) return;
  }
  errors_.push_back({std::move(shown), text});
}

absl::Status ErrorList::ToStatus() const {
  if (errors_.empty()) return absl::OkStatus();
  std::vector<Error> sorted = errors_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Error& a, const Error& b) {
                     return std::pair(a.location.line, a.location.column) <
                            std::pair(b.location.line, b.location.column);
                   });
  std::vector<std::string> lines;
  for (const Error& error : sorted) {
    lines.push_back(absl::StrCat(ToString(error.location),
                                 error.location.key.empty() ? "" : " ",
                                 error.message));
  }
  std::string text = JoinAlikeLines(lines);
  if (further_ > 0) absl::StrAppend(&text, "\nand ", further_, " more errors");
  return absl::InvalidArgumentError(text);
}

}  // namespace poniente::internal
