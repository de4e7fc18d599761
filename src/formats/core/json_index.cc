// SPDX-License-Identifier: Apache-2.0
#include "formats/core/json_index.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "formats/core/input_bytes.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr uint64_t kMaxIndexBytes = uint64_t{1} << 30;
constexpr uint64_t kIndexHeadBytes = 65536;
constexpr char kIndexFileName[] = "index.json";

std::string PathOf(const FoundPath& found) {
  return found.is_folder ? found.Below(kIndexFileName) : found.path;
}

}  // namespace

absl::StatusOr<JsonIndex> ReadJsonIndex(const FoundPath& found) {
  if (found.is_folder && !found.HasFile(kIndexFileName)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", found.path, "' has no index.json",
        found.folders.empty()
            ? "; give the folder that holds it"
            : absl::StrCat("; if its ", found.folders.size(), " folders ('",
                           found.folders[0], "') have one each, open these, ",
                           "or merge their indexes into one")));
  }
  JsonIndex index;
  index.path = PathOf(found);
  index.folder = std::filesystem::path(index.path).parent_path().string();
  if (index.folder.empty()) index.folder = ".";
  PONIENTE_ASSIGN_OR_RETURN(const FileBytes file, FileBytes::Open(index.path));
  PONIENTE_ASSIGN_OR_RETURN(index.text, ReadAllText(file, kMaxIndexBytes));
  return index;
}

std::string JsonIndexHead(const FoundPath& found) {
  if (found.is_folder && !found.HasFile(kIndexFileName)) return "";
  if (!found.is_folder && !found.HasMagic("{")) return "";
  const absl::StatusOr<FileBytes> file = FileBytes::Open(PathOf(found));
  if (!file.ok()) return "";
  const auto head = ReadHead(*file, kIndexHeadBytes);
  if (!head.ok()) return "";
  return {reinterpret_cast<const char*>(head->data()), head->size()};
}

}  // namespace poniente::internal
