// SPDX-License-Identifier: Apache-2.0
#include "formats/core/file_arrays.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "formats/core/type_codes.h"
#include "util/one_line.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

absl::Status TypesDiffer(const std::string& path, StoredType type,
                         StoredType before) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", path, "' holds ", Absl(StoredTypeName(type)),
                   ", the files before it hold ", Absl(StoredTypeName(before)),
                   "; choose files of one type by a pattern (glob)"));
}

// Warns of files that are not read although their names say that they hold ids.
void WarnOfOthers(const FoundPath& found, const std::vector<std::string>& read,
                  std::vector<std::string>* warnings) {
  std::vector<std::string> others;
  for (const std::string& name : found.files) {
    const bool may_hold_ids =
        HasSuffix(name, ".bin") || HasSuffix(name, ".npy") ||
        HasSuffix(name, ".ds") || HasSuffix(name, ".arrow") ||
        HasSuffix(name, ".mds") || HasSuffix(name, ".idx");
    if (!may_hold_ids) continue;
    if (std::binary_search(read.begin(), read.end(), found.Below(name))) {
      continue;
    }
    others.push_back(name);
  }
  if (others.empty()) return;
  warnings->push_back(absl::StrCat(
      others.size(), " files of the folder are not read, the first is '",
      OneLine(others.front()), "': they are of another format"));
}

// Returns the open file of `found`, or opens the file at `path` in its folder.
absl::StatusOr<std::shared_ptr<const FileBytes>> OpenedAt(
    const std::string& path, const FoundPath& found) {
  if (!found.is_folder) return found.file;
  PONIENTE_ASSIGN_OR_RETURN(FileBytes file, FileBytes::Open(path));
  return std::make_shared<const FileBytes>(std::move(file));
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ArrayPaths(const FoundPath& found,
                                                    const std::string& glob) {
  if (!found.is_folder) return std::vector<std::string>{found.path};
  std::vector<std::string> paths;
  for (const std::string& name : Matching(found.files, glob)) {
    paths.push_back(found.Below(name));
  }
  if (paths.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", found.path, "' has ", found.files.size(),
        " files, none of which matches '", glob, "'",
        found.glob.empty() ? ", as such files are mostly called" : "",
        "; state another pattern (glob)"));
  }
  return paths;
}

absl::StatusOr<TokenLayout> LayOutFileArrays(const FoundPath& found,
                                             const TokenSourceOptions& options,
                                             const std::string& glob,
                                             const FileArrayParser& parse) {
  TokenLayout layout;
  PONIENTE_ASSIGN_OR_RETURN(
      layout.files,
      ArrayPaths(found, options.glob.empty() ? glob : options.glob));
  if (found.is_folder && options.glob.empty()) {
    WarnOfOthers(found, layout.files, &layout.warnings);
  }
  bool is_type_known = false;
  for (const std::string& path : layout.files) {
    PONIENTE_ASSIGN_OR_RETURN(const auto file, OpenedAt(path, found));
    PONIENTE_ASSIGN_OR_RETURN(const FileArray array, parse(*file));
    if (file->size() > 0) {  // an empty file has ids of any type
      PONIENTE_RETURN_IF_ERROR(CheckStatedType(path, array.type, options));
      if (is_type_known && array.type != layout.type) {
        return TypesDiffer(path, array.type, layout.type);
      }
      is_type_known = true;
      layout.type = array.type;
    } else if (!is_type_known) {
      layout.type = options.dtype.value_or(array.type);
    }
    layout.bytes += file->size();
    layout.shards.push_back({array.tokens,
                             static_cast<uint32_t>(layout.shards.size()),
                             array.offset});
  }
  return layout;
}

std::vector<std::byte> FirstBytes(const FoundPath& found,
                                  const std::string& glob, uint64_t count) {
  if (!found.is_folder) {
    return {found.head.begin(),
            found.head.begin() + static_cast<ptrdiff_t>(std::min<uint64_t>(
                                     count, found.head.size()))};
  }
  const absl::StatusOr<std::vector<std::string>> paths =
      ArrayPaths(found, found.glob.empty() ? glob : found.glob);
  if (!paths.ok()) return {};
  const absl::StatusOr<FileBytes> file = FileBytes::Open(paths->front());
  if (!file.ok()) return {};
  absl::StatusOr<std::vector<std::byte>> head = ReadHead(*file, count);
  return head.ok() ? *std::move(head) : std::vector<std::byte>();
}

absl::StatusOr<uint64_t> CountWhole(const std::string& path, uint64_t bytes,
                                    StoredType type) {
  const uint64_t width = StoredTypeBytes(type);
  if (bytes % width == 0) return bytes / width;
  return absl::DataLossError(absl::StrCat(
      "'", path, "': ", bytes, " bytes of ids are no whole number of ",
      Absl(StoredTypeName(type)), ", of ", width,
      " bytes each; the file was cut short, or is of another dtype"));
}

}  // namespace poniente::internal
