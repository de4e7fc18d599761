// SPDX-License-Identifier: Apache-2.0
// Reads the files that the Hugging Face datasets library writes beside its
// Arrow files. They say which Arrow files there are, and in which order.

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
  // Empty if the folder holds a single split.
  std::string split;
  // nullopt if the list does not say it.
  std::optional<uint64_t> rows;
};

// Returns the files that state.json lists, for a dataset saved to disk.
absl::StatusOr<std::vector<ListedFile>> ParseSavedState(const std::string& path,
                                                        std::string_view text);

// Returns the splits that dataset_dict.json lists, for a DatasetDict saved to
// disk. Each split is a folder.
absl::StatusOr<std::vector<std::string>> ParseSavedSplits(
    const std::string& path, std::string_view text);

// Returns the files of the splits that dataset_info.json lists, for a folder of
// the cache: <name>-<split>.arrow or, if there are several shards,
// <name>-<split>-00000-of-0000N.arrow. Empty if it lists no splits. DataLoss
// for more than `most_files`.
absl::StatusOr<std::vector<ListedFile>> ParseCacheInfo(const std::string& path,
                                                       std::string_view text,
                                                       uint64_t most_files);

// Returns whether `found` is one of these folders, or has Arrow files.
bool IsArrowFolder(const FoundPath& found);

// Returns the Arrow files of a folder, in order; only those that match `glob`,
// unless it is empty. Adds the sizes of the lists that were read to `bytes`.
// Errors: InvalidArgument, listing them, if there are several splits, or if
//     nothing says which files there are and `glob` is empty.
absl::StatusOr<std::vector<ListedFile>> ListArrowFiles(const FoundPath& found,
                                                       const std::string& glob,
                                                       uint64_t* bytes);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_ARROW_ARROW_FOLDER_H_
