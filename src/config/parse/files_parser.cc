// SPDX-License-Identifier: Apache-2.0
#include "config/parse/files_parser.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace poniente::internal {
namespace {

constexpr uint64_t kMostMaskNumber = uint64_t{1} << 62;

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

std::optional<LossMaskFiles> ParseLossMask(TableReader& node) {
  if (!node.Has("loss_mask")) return std::nullopt;
  LossMaskFiles mask;
  if (!node.IsTable("loss_mask")) {
    mask.path = node.String("loss_mask").value_or("");
    return mask;
  }
  TableReader table(*node.Table("loss_mask"), node.LocationOf("loss_mask"),
                    node.errors(), {KeyTable::kLossMask});
  mask.path = table.String("path").value_or("");
  mask.glob = table.String("glob").value_or("");
  mask.column = table.String("column").value_or("");
  mask.no_loss = table.Signed("no_loss", kMostMaskNumber);
  mask.loss = table.Signed("loss", kMostMaskNumber);
  if (mask.no_loss.has_value() && mask.loss.has_value()) {
    table.Error("loss", "cannot be combined with no_loss");
  }
  if (mask.path.empty() && mask.glob.empty() && mask.column.empty()) {
    table.ErrorHere("needs a path, a glob or a column");
  }
  table.Finish();
  return mask;
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
  files.loss_mask = ParseLossMask(table);
  if (const auto overlap = table.Unsigned("overlap", 0, 1)) {
    files.overlap = static_cast<uint32_t>(*overlap);
  }
  files.across_shards = table.Bool("across_shards");
  files.growing = table.Bool("growing").value_or(false);
  return files;
}

}  // namespace poniente::internal
