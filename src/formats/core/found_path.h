// SPDX-License-Identifier: Apache-2.0
// A path that may hold tokens, before its format is known.

#ifndef PONIENTE_FORMATS_CORE_FOUND_PATH_H_
#define PONIENTE_FORMATS_CORE_FOUND_PATH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "formats/core/input_bytes.h"

namespace poniente::internal {

struct FoundPath {
  // The path, without slashes at its end.
  std::string path;
  bool is_folder = false;
  // The file, open, and its size.
  std::shared_ptr<const FileBytes> file;
  uint64_t bytes = 0;
  // The first bytes of a file, at most 4096.
  std::vector<std::byte> head;
  // The names in a folder, in bytewise order: of its files and of its folders.
  std::vector<std::string> files;
  std::vector<std::string> folders;
  // Pattern (fnmatch) of the files to read in a folder; empty: the format's
  // own.
  std::string glob;

  bool HasFile(std::string_view name) const;
  bool HasFolder(std::string_view name) const;
  // Returns the files that match `glob`, by default `own`, in their order.
  std::vector<std::string> Chosen(const std::string& own) const;
  // Returns path/name.
  std::string Below(std::string_view name) const;
  // Returns whether this is a file that begins with these bytes.
  bool HasMagic(std::string_view magic) const;
};

// Examines a path. NotFound if nothing is there; InvalidArgument for anything
// but a file or a folder.
absl::StatusOr<FoundPath> FindPath(const std::string& path);

// Returns whether the path is a regular file; false also if that cannot be
// determined.
bool IsRegularFile(const std::string& path);

// Returns whether `name` ends with `suffix`, which begins with a dot.
bool HasSuffix(std::string_view name, std::string_view suffix);

// Returns the path below `folder` of a file that a description calls `name`.
// InvalidArgument if it leads elsewhere: absolute, or with "..".
absl::StatusOr<std::string> BelowFolder(const std::string& folder,
                                        std::string_view name);

// Returns those of `names` that match the pattern (fnmatch), in their order.
std::vector<std::string> Matching(const std::vector<std::string>& names,
                                  const std::string& pattern);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_CORE_FOUND_PATH_H_
