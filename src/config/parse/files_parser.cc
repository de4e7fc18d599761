// SPDX-License-Identifier: Apache-2.0
#include "config/parse/files_parser.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace poniente::internal {
namespace {

std::optional<StoredType> ParseDtype(TableReader& table) {
  const std::optional<std::string> name = table.String("dtype");
  if (!name.has_value()) return std::nullopt;
  const absl::StatusOr<StoredType> type = ParseStoredType(*name);
  if (type.ok()) return *type;
  table.Error("dtype", absl::StrCat("is an ", type.status().message()));
  return std::nullopt;
}

std::string ParseFilesFormat(TableReader& table) {
  const std::string name = table.String("format").value_or("");
  const std::vector<std::string> known = TokenFormatNames();
  if (name.empty() ||
      std::find(known.begin(), known.end(), name) != known.end()) {
    return name;
  }
  table.Error("format",
              absl::StrCat("must be one of ", absl::StrJoin(known, ", "),
                           ", got '", name, "'"));
  return "";
}

std::optional<DocumentDelimiter> ParseDelimiter(TableReader& table) {
  const auto end = table.Unsigned("document_end", 0, UINT32_MAX);
  const auto begin = table.Unsigned("document_begin", 0, UINT32_MAX);
  if (end.has_value() && begin.has_value()) {
    table.Error("document_begin", "cannot be combined with document_end");
  }
  if (end) return DocumentDelimiter{static_cast<uint32_t>(*end), false};
  if (begin) return DocumentDelimiter{static_cast<uint32_t>(*begin), true};
  return std::nullopt;
}

}  // namespace

std::optional<Vocabulary> ParseVocabulary(TableReader& table) {
  const std::optional<std::string> tokenizer = table.String("tokenizer");
  if (!tokenizer.has_value()) return std::nullopt;
  if (!table.Has("vocab_size")) {
    table.Error("tokenizer", "needs vocab_size, too");
  }
  return Vocabulary{
      *tokenizer,
      table.Unsigned("vocab_size", 1, uint64_t{1} << 32).value_or(1)};
}

SourceFiles ParseFiles(TableReader& table) {
  SourceFiles files;
  files.format = ParseFilesFormat(table);
  files.dtype = ParseDtype(table);
  files.column = table.String("column").value_or("");
  files.glob = table.String("glob").value_or("");
  files.delimiter = ParseDelimiter(table);
  if (const auto overlap = table.Unsigned("overlap", 0, 1)) {
    files.overlap = static_cast<uint32_t>(*overlap);
  }
  files.across_shards = table.Bool("across_shards");
  return files;
}

}  // namespace poniente::internal
