// SPDX-License-Identifier: Apache-2.0
#include "util/alike_lines.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/strings/str_cat.h"

namespace poniente::internal {
namespace {

// Lines that are all shown, though they are alike.
constexpr size_t kFew = 8;
// Of more, so many are shown.
constexpr size_t kShown = 3;
// Further ones that are named by their places.
constexpr size_t kMostPlaces = 16;

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

// Returns the place that a line begins with ("t.toml:3:1: ...",
// "data.mixture.a has ..."), or nothing.
std::string PlaceOf(std::string_view line) {
  std::string_view word = line.substr(0, line.find(' '));
  if (word.ends_with(':')) word.remove_suffix(1);
  return word.find_first_of(":.") == std::string_view::npos ? ""
                                                            : std::string(word);
}

// What stands in place of the lines that are not shown.
std::string OthersWords(const std::vector<std::string_view>& others) {
  std::string words = absl::StrCat("  and ", others.size(), " more like these");
  std::string places;
  for (size_t i = 0; i < std::min(others.size(), kMostPlaces); ++i) {
    const std::string place = PlaceOf(others[i]);
    if (place.empty()) return words;
    absl::StrAppend(&places, places.empty() ? ": " : ", ", place);
  }
  return absl::StrCat(words, places,
                      others.size() > kMostPlaces ? ", ..." : "");
}

}  // namespace

std::string JoinAlikeLines(std::span<const std::string> lines) {
  std::vector<std::string> shapes;
  std::unordered_map<std::string_view, std::vector<std::string_view>> alike;
  shapes.reserve(lines.size());  // the map's keys are views of the shapes
  for (const std::string& line : lines) {
    shapes.push_back(ShapeOf(line));
    alike[shapes.back()].push_back(line);
  }
  std::unordered_map<std::string_view, size_t> seen;
  std::string text;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::vector<std::string_view>& all = alike[shapes[i]];
    const size_t number = ++seen[shapes[i]];
    const bool are_many = all.size() > kFew;
    if (are_many && number > kShown) continue;
    absl::StrAppend(&text, text.empty() ? "" : "\n", lines[i]);
    if (are_many && number == kShown) {
      absl::StrAppend(&text, "\n",
                      OthersWords({all.begin() + kShown, all.end()}));
    }
  }
  return text;
}

absl::Status JoinErrors(std::span<const absl::Status> statuses) {
  absl::StatusCode code = absl::StatusCode::kOk;
  std::vector<std::string> messages;
  for (const absl::Status& status : statuses) {
    if (status.ok()) continue;
    if (messages.empty()) code = status.code();
    messages.emplace_back(status.message());
  }
  return absl::Status(code, JoinAlikeLines(messages));
}

}  // namespace poniente::internal
