// SPDX-License-Identifier: Apache-2.0
#include "config/write/toml_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "config/parse/great_integer.h"
#include "util/one_line.h"
#include "util/status_macros.h"

namespace poniente::internal {
std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      absl::StrAppendFormat(&quoted, "\\u%04x", byte);
    } else {
      quoted += c;
    }
  }
  // What is left of Unicode's: \u202e means the same in TOML.
  return OneLine(quoted + '"');
}

std::string TomlKey(std::string_view name) {
  const bool is_bare =
      !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               (c >= '0' && c <= '9') || c == '_' || c == '-';
      });
  return is_bare ? std::string(name) : Quoted(name);
}

std::string Float(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, number).ptr;
  std::string shown(text, end);
  if (shown.find_first_of(".e") == std::string::npos) shown += ".0";
  return shown;
}

std::string Integer(uint64_t value) {
  if (value <= uint64_t{INT64_MAX}) return absl::StrCat(value);
  return Quoted(absl::StrCat(Absl(kGreatInteger), value));
}

bool MayHaveGreatInteger(std::string_view toml) {
  std::string begin = Quoted(kGreatInteger);
  begin.pop_back();
  return toml.find(begin) != std::string_view::npos;
}

std::string Keys::Lines() const {
  std::string lines;
  for (const auto& [key, value] : pairs_) {
    absl::StrAppend(&lines, key, " = ", value, "\n");
  }
  return lines;
}

std::string Keys::Inline() const {
  if (pairs_.empty()) return "{}";
  return absl::StrCat(
      "{ ", absl::StrJoin(pairs_, ", ", absl::PairFormatter(" = ")), " }");
}

std::string Threshold(const ScoreThreshold& threshold) {
  if (threshold.unit == ScoreThreshold::Unit::kScore) {
    return Float(threshold.value);
  }
  const bool is_quantile = threshold.unit == ScoreThreshold::Unit::kQuantile;
  Keys keys;
  keys.Add(is_quantile ? "quantile" : "sigmas", Float(threshold.value));
  return keys.Inline();
}

std::string Thresholds(
    const std::map<std::string, ScoreThreshold>& thresholds) {
  Keys keys;
  for (const auto& [name, threshold] : thresholds) {
    keys.Add(name, Threshold(threshold));
  }
  return keys.Inline();
}

std::string Numbers(const std::map<std::string, double>& numbers) {
  Keys keys;
  for (const auto& [name, number] : numbers) keys.Add(name, Float(number));
  return keys.Inline();
}

}  // namespace poniente::internal
