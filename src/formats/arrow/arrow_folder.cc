// SPDX-License-Identifier: Apache-2.0
#include "formats/arrow/arrow_folder.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "formats/arrow/arrow_stream.h"
#include "formats/core/input_bytes.h"
#include "formats/core/json_values.h"
#include "util/one_line.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr std::string_view kState = "state.json";
constexpr std::string_view kSplits = "dataset_dict.json";
constexpr std::string_view kInfo = "dataset_info.json";
constexpr uint64_t kMaxListBytes = 16 << 20;
constexpr uint64_t kMaxSplits = 1000;

using Keys = std::span<const std::string>;

absl::StatusOr<std::string> ReadList(const FoundPath& found,
                                     std::string_view name, uint64_t* bytes) {
  PONIENTE_ASSIGN_OR_RETURN(const FileBytes file,
                            FileBytes::Open(found.Below(name)));
  *bytes += file.size();
  return ReadAllText(file, kMaxListBytes);
}

bool IsText(const JsonValue& value) {
  return value.kind == JsonValue::Kind::kText;
}

absl::Status Lacks(const std::string& path, std::string_view what) {
  return absl::DataLossError(absl::StrCat("'", path, "' has no ", Absl(what),
                                          "; save the dataset again"));
}

// A split of dataset_info.json.
struct CachedSplit {
  std::string key;
  std::string name;
  std::string dataset;
  std::optional<uint64_t> rows;
  std::vector<uint64_t> shard_rows;
};

struct CacheInfo {
  std::vector<CachedSplit> splits;
  std::string dataset;
  std::string builder;
  absl::Status status;
};

void TakeSplitValue(const std::string& path, uint64_t most_files, Keys at,
                    const JsonValue& value, CacheInfo* info) {
  if (at.size() == 2) {
    if (info->splits.size() == kMaxSplits) {
      info->status = absl::InvalidArgumentError(
          absl::StrCat("'", path, "' has more than ", kMaxSplits, " splits"));
      return;
    }
    CachedSplit split;
    split.key = at[1];
    split.name = at[1];
    info->splits.push_back(std::move(split));
    return;
  }
  CachedSplit& split = info->splits.back();
  if (at.size() == 3 && at[2] == "name" && IsText(value)) {
    split.name = std::string(value.text);
  } else if (at.size() == 3 && at[2] == "dataset_name" && IsText(value)) {
    split.dataset = std::string(value.text);
  } else if (at.size() == 3 && at[2] == "num_examples") {
    split.rows = value.integer;
  } else if (at.size() == 4 && at[2] == "shard_lengths") {
    if (!value.integer || split.shard_rows.size() == most_files) {
      info->status = absl::DataLossError(absl::StrCat(
          "'", path, "': shard ", split.shard_rows.size(), " of split '",
          OneLine(split.key), "' ",
          value.integer ? absl::StrCat("is listed, but the folder has only ",
                                       most_files, " files")
                        : "has no number of rows",
          "; prepare the dataset again"));
      return;
    }
    split.shard_rows.push_back(*value.integer);
  }
}

// Appends "<dataset>-<split>.arrow", or one such name for each shard.
void AddFiles(const std::string& dataset, const CachedSplit& split,
              std::vector<ListedFile>* files) {
  const std::string prefix = absl::StrCat(dataset, "-", split.name);
  const uint64_t shards = split.shard_rows.size();
  if (shards <= 1) {
    files->push_back({absl::StrCat(prefix, ".arrow"), split.name,
                      shards == 1 ? split.shard_rows[0] : split.rows});
    return;
  }
  for (uint64_t i = 0; i < shards; ++i) {
    files->push_back(
        {absl::StrFormat("%s-%05d-of-%05d.arrow", prefix, i, shards),
         split.name, split.shard_rows[i]});
  }
}

bool HasArrowFiles(const FoundPath& found) {
  return std::any_of(
      found.files.begin(), found.files.end(),
      [](const std::string& name) { return HasSuffix(name, ".arrow"); });
}

std::string SplitsOf(const std::vector<ListedFile>& files) {
  std::vector<std::string> splits;
  for (const ListedFile& file : files) {
    if (splits.empty() || splits.back() != file.split) {
      splits.push_back(file.split);
    }
  }
  return OneLine(absl::StrJoin(splits, ", "));
}

// Returns the files that match `glob`, in their order.
std::vector<ListedFile> Chosen(const std::vector<ListedFile>& files,
                               const std::string& glob) {
  if (glob.empty()) return files;
  std::vector<std::string> names;
  for (const ListedFile& file : files) names.push_back(file.name);
  const std::vector<std::string> matching = Matching(names, glob);
  const std::set<std::string> chosen(matching.begin(), matching.end());
  std::vector<ListedFile> found;
  for (const ListedFile& file : files) {
    if (chosen.contains(file.name)) found.push_back(file);
  }
  return found;
}

absl::StatusOr<std::vector<ListedFile>> FilesIn(const FoundPath& found,
                                                uint64_t* bytes) {
  if (found.HasFile(kState)) {
    PONIENTE_ASSIGN_OR_RETURN(const std::string text,
                              ReadList(found, kState, bytes));
    return ParseSavedState(found.Below(kState), text);
  }
  if (found.HasFile(kInfo)) {
    PONIENTE_ASSIGN_OR_RETURN(const std::string text,
                              ReadList(found, kInfo, bytes));
    return ParseCacheInfo(found.Below(kInfo), text, found.files.size());
  }
  return std::vector<ListedFile>();
}

absl::StatusOr<std::vector<ListedFile>> Unlisted(const FoundPath& found,
                                                 const std::string& glob) {
  if (glob.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", found.path,
        "' has neither state.json nor a dataset_info.json with "
        "splits, which say what its Arrow files are: state them by a pattern "
        "(glob), they are read in the order of their names"));
  }
  std::vector<ListedFile> files;
  for (const std::string& name : Matching(found.files, glob)) {
    files.push_back({name, "", std::nullopt});
  }
  return files;
}

}  // namespace

absl::StatusOr<std::vector<ListedFile>> ParseSavedState(const std::string& path,
                                                        std::string_view text) {
  std::vector<ListedFile> files;
  bool has_list = false;
  uint64_t entries = 0;
  bool has_indices = false;
  bool has_part = false;
  PONIENTE_RETURN_IF_ERROR(
      VisitJson(path, text, [&](Keys at, const JsonValue& value) {
        if (at.empty()) return;
        // Early versions of the library could save a selection of rows: their
        // numbers, in another file.
        has_indices =
            has_indices || (at[0] == "_indices_data_files" && at.size() == 2);
        if (at[0] != "_data_files") return;
        has_list = has_list || value.kind == JsonValue::Kind::kList;
        if (at.size() == 2) ++entries;
        if (at.size() != 3) return;
        if (at[2] == "filename" && IsText(value)) {
          files.push_back({std::string(value.text), "", std::nullopt});
        }
        const bool is_skip = at[2] == "skip" && value.integer.value_or(0) != 0;
        has_part = has_part || is_skip;
        if (at[2] == "take" && files.size() == entries && entries > 0)
          files.back().rows = value.integer;
      }));
  if (!has_list) return Lacks(path, "list '_data_files'");
  if (entries != files.size()) return Lacks(path, "name for each data file");
  if (has_indices || has_part) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", path, "': the rows are a selection (",
        has_indices ? "_indices_data_files" : "skip",
        ") of those in the files, which is not read; load the dataset, call "
        "flatten_indices() and save it again"));
  }
  return files;
}

absl::StatusOr<std::vector<std::string>> ParseSavedSplits(
    const std::string& path, std::string_view text) {
  std::vector<std::string> splits;
  PONIENTE_RETURN_IF_ERROR(
      VisitJson(path, text, [&](Keys at, const JsonValue& value) {
        if (at.size() == 2 && at[0] == "splits" && IsText(value)) {
          splits.emplace_back(value.text);
        }
      }));
  if (splits.empty()) return Lacks(path, "splits");
  return splits;
}

absl::StatusOr<std::vector<ListedFile>> ParseCacheInfo(const std::string& path,
                                                       std::string_view text,
                                                       uint64_t most_files) {
  CacheInfo info;
  PONIENTE_RETURN_IF_ERROR(
      VisitJson(path, text, [&](Keys at, const JsonValue& value) {
        if (!info.status.ok() || at.empty()) return;
        if (at.size() == 1 && at[0] == "dataset_name" && IsText(value)) {
          info.dataset = std::string(value.text);
        } else if (at.size() == 1 && at[0] == "builder_name" && IsText(value)) {
          info.builder = std::string(value.text);
        } else if (at.size() > 1 && at[0] == "splits") {
          TakeSplitValue(path, most_files, at, value, &info);
        }
      }));
  PONIENTE_RETURN_IF_ERROR(info.status);
  std::vector<ListedFile> files;
  for (const CachedSplit& split : info.splits) {
    const std::string& dataset = !split.dataset.empty()  ? split.dataset
                                 : !info.dataset.empty() ? info.dataset
                                                         : info.builder;
    AddFiles(dataset, split, &files);
    if (files.size() > most_files) {
      return absl::DataLossError(absl::StrCat(
          "'", path, "' lists more Arrow files than the folder has files, ",
          most_files, "; prepare the dataset again"));
    }
  }
  return files;
}

bool IsArrowFolder(const FoundPath& found) {
  if (found.HasFile(kSplits)) return true;
  if (found.HasFile(kState) && found.HasFile(kInfo)) return true;
  if (!HasArrowFiles(found)) return false;
  if (found.HasFile(kState) || found.HasFile(kInfo)) return true;
  const std::vector<std::string> names = found.Chosen("*.arrow");
  if (names.empty()) return false;
  const absl::StatusOr<FoundPath> file = FindPath(found.Below(names.front()));
  return file.ok() && IsArrow(file->head);
}

absl::StatusOr<std::vector<ListedFile>> ListArrowFiles(const FoundPath& found,
                                                       const std::string& glob,
                                                       uint64_t* bytes) {
  PONIENTE_ASSIGN_OR_RETURN(const std::vector<ListedFile> listed,
                            FilesIn(found, bytes));
  const bool is_list = found.HasFile(kState) || !listed.empty();
  std::vector<ListedFile> files = Chosen(listed, glob);
  if (!is_list) {
    PONIENTE_ASSIGN_OR_RETURN(files, Unlisted(found, glob));
  }
  if (!glob.empty() && files.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", found.path, "': none of ",
        is_list ? listed.size() : found.files.size(), " files matches '", glob,
        "'", listed.empty() ? "" : absl::StrCat("; it has ", SplitsOf(listed)),
        "; state another pattern (glob)"));
  }
  for (const ListedFile& file : files) {
    if (file.split == files[0].split) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("'", found.path, "' holds the splits ", SplitsOf(files),
                     "; choose one by a pattern (glob), such as '*-",
                     OneLine(files[0].split), "*.arrow'"));
  }
  return files;
}

}  // namespace poniente::internal
