// SPDX-License-Identifier: Apache-2.0
#include "formats/arrays/tatm_metadata.h"

#include <charconv>

#include "absl/strings/str_cat.h"
#include "formats/core/input_bytes.h"
#include "util/one_line.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr std::string_view kFileName = "metadata.yaml";
constexpr uint64_t kMaxTatmBytes = uint64_t{1} << 20;
constexpr size_t kMaxTatmNameBytes = 4096;

// A line `key: value`. `key` is empty if the line has none.
struct Line {
  size_t indent = 0;
  std::string_view key;
  std::string_view value;
};

std::string_view Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// Returns the value without quotes and without a comment after it.
std::string_view ValueOf(std::string_view text) {
  text = Trim(text);
  if (!text.empty() && (text[0] == '\'' || text[0] == '"')) {
    const size_t end = text.find(text[0], 1);
    return end == std::string_view::npos ? text : text.substr(1, end - 1);
  }
  if (text.starts_with('#')) return {};
  text = Trim(text.substr(0, text.find(" #")));
  return text == "null" || text == "~" ? std::string_view() : text;
}

Line ParseLine(std::string_view text) {
  Line line;
  line.indent = text.find_first_not_of(' ');
  if (line.indent == std::string_view::npos) return {};
  text = text.substr(line.indent);
  const size_t colon = text.find(':');
  if (text[0] == '#' || colon == std::string_view::npos) return line;
  line.key = Trim(text.substr(0, colon));
  line.value = ValueOf(text.substr(colon + 1));
  return line;
}

// Returns the type of a NumPy name, such as "uint16".
std::optional<StoredType> ParseNumPyType(std::string_view name) {
  const size_t digits = name.find_first_of("0123456789");
  if (digits == std::string_view::npos) return std::nullopt;
  const std::string_view kind = name.substr(0, digits);
  if (kind != "uint" && kind != "int") return std::nullopt;
  const auto type = ParseStoredType(
      absl::StrCat(Absl(kind.substr(0, 1)), Absl(name.substr(digits))));
  return type.ok() ? std::optional(*type) : std::nullopt;
}

absl::Status Misunderstood(size_t number, std::string_view key,
                           std::string_view value, std::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat(
      "line ", number, ": ", Absl(key), " is '", OneLine(value.substr(0, 80)),
      "', expected ", Absl(expected)));
}

absl::Status Take(const Line& line, size_t number, TatmMetadata* metadata) {
  if (line.value.empty()) return absl::OkStatus();
  if (line.key == "dtype") {
    metadata->type = ParseNumPyType(line.value);
    if (metadata->type.has_value()) return absl::OkStatus();
    return Misunderstood(number, line.key, line.value,
                         "a type such as 'uint16'");
  }
  if (line.key == "vocab_size") {
    const char* end = line.value.data() + line.value.size();
    const auto parsed =
        std::from_chars(line.value.data(), end, metadata->vocabulary_size);
    if (parsed.ec == std::errc() && parsed.ptr == end) return absl::OkStatus();
    metadata->vocabulary_size = 0;
    return Misunderstood(number, line.key, line.value, "a number");
  }
  if (line.key == "tokenizer") {
    if (line.value.size() > kMaxTatmNameBytes) {
      return Misunderstood(number, line.key, line.value,
                           "a name of at most 4096 bytes");
    }
    metadata->tokenizer = line.value;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TatmMetadata> ParseTatmMetadata(std::string_view text) {
  TatmMetadata metadata;
  std::optional<size_t> info_indent;
  size_t member_indent = 0;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    const Line line = ParseLine(text.substr(0, end));
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
    if (line.key.empty()) continue;
    if (info_indent.has_value() && line.indent <= *info_indent) break;
    if (!info_indent.has_value()) {
      if (line.key != "tokenized_info") continue;
      if (!line.value.empty()) {
        return Misunderstood(number, line.key, line.value,
                             "its members on lines of their own");
      }
      info_indent = line.indent;
      continue;
    }
    if (member_indent == 0) member_indent = line.indent;
    if (line.indent != member_indent) continue;
    PONIENTE_RETURN_IF_ERROR(Take(line, number, &metadata));
  }
  return metadata;
}

void ApplyTatmMetadata(const FoundPath& found, TokenLayout* layout) {
  if (!found.HasFile(kFileName)) return;
  const auto parsed = [&]() -> absl::StatusOr<TatmMetadata> {
    PONIENTE_ASSIGN_OR_RETURN(const FileBytes file,
                              FileBytes::Open(found.Below(kFileName)));
    PONIENTE_ASSIGN_OR_RETURN(const std::string text,
                              ReadAllText(file, kMaxTatmBytes));
    layout->bytes += file.size();
    const absl::StatusOr<TatmMetadata> metadata = ParseTatmMetadata(text);
    if (metadata.ok()) return *metadata;
    return Prepend(metadata.status(), absl::StrCat("'", file.path(), "'"));
  }();
  if (!parsed.ok()) {
    layout->warnings.push_back(
        absl::StrCat(parsed.status().message(), "; it was not used"));
    return;
  }
  layout->tokenizer = parsed->tokenizer;
  layout->vocabulary_size = parsed->vocabulary_size;
  if (parsed->type.has_value() && *parsed->type != layout->type) {
    layout->warnings.push_back(absl::StrCat(
        "'", found.Below(kFileName), "' says dtype ",
        Absl(StoredTypeName(*parsed->type)), ", the files hold ",
        Absl(StoredTypeName(layout->type)), "; they were read as that"));
  }
}

}  // namespace poniente::internal
