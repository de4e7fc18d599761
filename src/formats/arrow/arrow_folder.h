// SPDX-License-Identifier: Apache-2.0
// What the Hugging Face datasets library writes beside its Arrow files: which
// they are, and in which order.

#ifndef PONIENTE_FORMATS_ARROW_ARROW_FOLDER_H_
#define PONIENTE_FORMATS_ARROW_ARROW_FOLDER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "formats/core/found_path.h"

namespace poniente::internal {

struct ListedFile {
  std::string name;
  // Empty if the folder holds one alone.
  std::string split;
  // If the list says it.
  std::optional<uint64_t> rows;
};

// Of a dataset saved to disk: the files of state.json.
absl::StatusOr<std::vector<ListedFile>> ParseSavedState(const std::string& path,
                                                        std::string_view text);

// Of a DatasetDict saved to disk: the splits of dataset_dict.json, a folder
// each.
absl::StatusOr<std::vector<std::string>> ParseSavedSplits(
    const std::string& path, std::string_view text);

// Of a folder of the cache: the files of the splits of dataset_info.json,
// <name>-<split>.arrow or, of several shards, <name>-<split>-00000-of-0000N
// .arrow. Empty if it lists no splits. DataLoss for more than `most_files`.
absl::StatusOr<std::vector<ListedFile>> ParseCacheInfo(const std::string& path,
                                                       std::string_view text,
                                                       uint64_t most_files);

// Whether it is one of these, or has Arrow files.
bool IsArrowFolder(const FoundPath& found);

// The Arrow files of a folder, in order; those that match `glob` unless it is
// empty. Adds the bytes of the lists to `bytes`.
// Errors: InvalidArgument, listing them, if there are several splits, or if
//     nothing says which files there are and `glob` is empty.
absl::StatusOr<std::vector<ListedFile>> ListArrowFiles(const FoundPath& found,
                                                       const std::string& glob,
                                                       uint64_t* bytes);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_ARROW_ARROW_FOLDER_H_
