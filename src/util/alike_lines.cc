// SPDX-License-Identifier: Apache-2.0
#include "util/alike_lines.h"

#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/strings/str_cat.h"

namespace poniente::internal {
namespace {

constexpr size_t kShown = 3;

// Returns the line with each word that names something replaced by '*'.
std::string ShapeOf(std::string_view line) {
  std::string shape;
  while (!line.empty()) {
    const size_t space = line.find(' ');
    const std::string_view word = line.substr(0, space);
    const bool names =
        word.find_first_of("0123456789./'\"") != std::string_view::npos;
    absl::StrAppend(&shape, names ? "*" : std::string(word), " ");
    line.remove_prefix(space == std::string_view::npos ? line.size()
                                                       : space + 1);
  }
  return shape;
}

}  // namespace

std::string JoinAlikeLines(std::span<const std::string> lines) {
  std::vector<std::string> shapes;
  std::unordered_map<std::string_view, size_t> counts;
  shapes.reserve(lines.size());  // the map's keys are views of the shapes
  for (const std::string& line : lines) {
    shapes.push_back(ShapeOf(line));
    ++counts[shapes.back()];
  }
  std::unordered_map<std::string_view, size_t> seen;
  std::string text;
  for (size_t i = 0; i < lines.size(); ++i) {
    const size_t count = counts[shapes[i]];
    const size_t before = seen[shapes[i]]++;
    // With only one more line, show it: stating their number takes a line, too.
    if (before >= kShown && count > kShown + 1) continue;
    absl::StrAppend(&text, text.empty() ? "" : "\n", lines[i]);
    if (before + 1 == kShown && count > kShown + 1) {
      absl::StrAppend(&text, "\n  and ", count - kShown, " more like these");
    }
  }
  return text;
}

}  // namespace poniente::internal
