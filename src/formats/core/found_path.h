// SPDX-License-Identifier: Apache-2.0
// A path that may hold tokens, before it is known in which format.

#ifndef PONIENTE_FORMATS_CORE_FOUND_PATH_H_
#define PONIENTE_FORMATS_CORE_FOUND_PATH_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace poniente::internal {

struct FoundPath {
  // Without slashes at its end.
  std::string path;
  bool is_folder = false;
  // Of a file.
  uint64_t bytes = 0;
  // A file's first bytes, at most 4096.
  std::vector<std::byte> head;
  // Of a folder: the names in it, in the order of their bytes; of its files and
  // of its folders.
  std::vector<std::string> files;
  std::vector<std::string> folders;
  // Of its files, those that are meant (fnmatch); empty: the format's own.
  std::string glob;

  bool HasFile(std::string_view name) const;
  bool HasFolder(std::string_view name) const;
  // The files that match `glob`, or else `own`, in their order.
  std::vector<std::string> Chosen(const std::string& own) const;
  // path/name.
  std::string Below(std::string_view name) const;
  // A file that begins with these bytes.
  bool HasMagic(std::string_view magic) const;
};

// NotFound if there is nothing; InvalidArgument for what is neither a file nor
// a folder.
absl::StatusOr<FoundPath> FindPath(const std::string& path);

// Whether a regular file lies there; false also where that cannot be told.
bool IsRegularFile(const std::string& path);

// Whether `name` ends with `suffix`, which begins with a dot.
bool HasSuffix(std::string_view name, std::string_view suffix);

// The path of a file that a description names by `name`, below `folder`.
// InvalidArgument if it leads elsewhere: absolute, or with "..".
absl::StatusOr<std::string> BelowFolder(const std::string& folder,
                                        std::string_view name);

// Names of `names` that match the pattern (fnmatch), in their order.
std::vector<std::string> Matching(const std::vector<std::string>& names,
                                  const std::string& pattern);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_CORE_FOUND_PATH_H_
