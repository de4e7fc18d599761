// SPDX-License-Identifier: Apache-2.0
#include "formats/mds/mds_index.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "formats/core/json_records.h"
#include "nlohmann/json.hpp"
#include "util/one_line.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxColumns = 4096;

absl::StatusOr<std::vector<std::string>> Texts(const Json& record,
                                               const char* key) {
  const auto found = record.find(key);
  const bool is_list = found != record.end() && found->is_array();
  if (!is_list || found->size() > kMaxColumns) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", key, "' is no list of at most ", kMaxColumns));
  }
  std::vector<std::string> texts;
  for (const Json& text : *found) {
    if (!text.is_string()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", key, "' has ", JsonForMessage(text), ", expected text"));
    }
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

absl::StatusOr<MdsColumns> Columns(const Json& record) {
  MdsColumns columns;
  PONIENTE_ASSIGN_OR_RETURN(columns.names, Texts(record, "column_names"));
  PONIENTE_ASSIGN_OR_RETURN(columns.encodings,
                            Texts(record, "column_encodings"));
  const auto sizes = record.find("column_sizes");
  if (sizes == record.end() || !sizes->is_array() ||
      sizes->size() != columns.names.size() ||
      columns.encodings.size() != columns.names.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'column_names' has ", columns.names.size(), " columns, ",
        "'column_encodings' has ", columns.encodings.size(),
        ", 'column_sizes' ",
        sizes == record.end() ? "is missing"
                              : absl::StrCat("has ", sizes->size())));
  }
  for (const Json& size : *sizes) {
    std::optional<uint64_t>& to = columns.sizes.emplace_back();
    // 0 means null, as in the project's own reader.
    if (size.is_null() || size == 0) continue;
    if (!size.is_number_unsigned() || size.get<uint64_t>() > UINT32_MAX) {
      return absl::InvalidArgumentError(
          absl::StrCat("'column_sizes' has ", JsonForMessage(size),
                       ", expected null or a number of bytes below 2^32"));
    }
    to = size.get<uint64_t>();
  }
  return columns;
}

absl::StatusOr<MdsFile> File(const Json& record, const char* key) {
  const auto found = record.find(key);
  if (found == record.end() || !found->is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", key, "' is ",
                     found == record.end() ? "missing" : JsonForMessage(*found),
                     ", expected a file's 'basename' and 'bytes'"));
  }
  MdsFile file;
  PONIENTE_ASSIGN_OR_RETURN(file.name, JsonText(*found, "basename"));
  PONIENTE_ASSIGN_OR_RETURN(file.bytes, JsonCount(*found, "bytes"));
  return file;
}

absl::Status CheckShardKind(const Json& record) {
  PONIENTE_ASSIGN_OR_RETURN(const std::string format,
                            JsonText(record, "format"));
  PONIENTE_ASSIGN_OR_RETURN(const uint64_t version,
                            JsonCount(record, "version"));
  if (format == "mds" && version == 2) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("format '", OneLine(format), "', version ", version,
                   " is not read; 'mds', version 2 is"));
}

absl::Status AddIndexedShard(const Json& record, MdsIndex* index) {
  PONIENTE_RETURN_IF_ERROR(CheckShardKind(record));
  MdsShard shard;
  PONIENTE_ASSIGN_OR_RETURN(shard.rows, JsonCount(record, "samples"));
  PONIENTE_ASSIGN_OR_RETURN(shard.raw, File(record, "raw_data"));
  const auto has = [&](const char* key) {
    const auto found = record.find(key);
    return found != record.end() && !found->is_null();
  };
  if (has("zip_data")) {
    PONIENTE_ASSIGN_OR_RETURN(shard.zip, File(record, "zip_data"));
  }
  if (has("compression")) {
    PONIENTE_ASSIGN_OR_RETURN(shard.compression,
                              JsonText(record, "compression"));
  }
  PONIENTE_ASSIGN_OR_RETURN(MdsColumns columns, Columns(record));
  if (index->columns.empty() || index->columns.back() != columns) {
    index->columns.push_back(std::move(columns));
  }
  shard.columns = static_cast<uint32_t>(index->columns.size() - 1);
  index->shards.push_back(std::move(shard));
  return absl::OkStatus();
}

}  // namespace

bool IsMdsIndex(std::string_view head) {
  const Json first = FirstJsonRecord(head, "shards");
  if (first.is_object()) {
    return first.contains("format") && first["format"] == "mds" &&
           first.contains("raw_data");
  }
  // A dataset without rows has no shards, only a version.
  const auto refuse = [](const Json&, uint64_t) {
    return absl::CancelledError();
  };
  Json others;
  return ForEachJsonRecord("", head, "shards", refuse, &others).ok() &&
         others == Json({{"shards", true}, {"version", 2}});
}

absl::StatusOr<MdsIndex> ParseMdsIndex(const std::string& path,
                                       std::string_view text) {
  MdsIndex index;
  Json others;
  const auto add = [&](const Json& record, uint64_t at) {
    return Prepend(AddIndexedShard(record, &index),
                   absl::StrCat("'", path, "': shard ", index.shards.size(),
                                ", at byte ", at));
  };
  PONIENTE_RETURN_IF_ERROR(
      ForEachJsonRecord(path, text, "shards", add, &others));
  if (!others.contains("shards")) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", path, "' has no 'shards'; it is no index of an MDS dataset"));
  }
  const auto version = others.find("version");
  if (version == others.end() || *version != 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", path, "' is of version ",
        version == others.end() ? "(missing)" : JsonForMessage(*version),
        "; version 2 is read"));
  }
  return index;
}

}  // namespace poniente::internal
