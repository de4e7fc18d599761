// SPDX-License-Identifier: Apache-2.0
#include "formats/megatron/index_pair.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "formats/core/input_bytes.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr std::string_view kIndexSuffix = ".idx";
constexpr std::string_view kIdsSuffix = ".bin";

bool FileBegins(const std::string& path, std::string_view magic) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  const absl::StatusOr<FileBytes> file = FileBytes::Open(path);
  if (!file.ok()) return false;
  const auto head = ReadHead(*file, magic.size());
  return head.ok() && BeginsWith(*head, magic);
}

std::string WithSuffix(const std::string& path, std::string_view suffix) {
  return path.substr(0, path.size() - suffix.size()) + std::string(suffix);
}

std::vector<std::string> Indexes(const FoundPath& found,
                                 const std::string& glob) {
  return Matching(Matching(found.files, "*.idx"), glob.empty() ? "*" : glob);
}

absl::StatusOr<std::string> ChooseIndex(const FoundPath& found,
                                        const TokenSourceOptions& options) {
  const std::vector<std::string> names = Indexes(found, options.glob);
  if (names.size() == 1) return found.Below(names.front());
  if (names.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", found.path, "' holds no .idx",
        options.glob.empty() ? "" : " that matches '", options.glob,
        options.glob.empty() ? "" : "'", "; name the dataset itself"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "'", found.path, "' holds ", names.size(), " datasets, '", names[0],
      "' and '", names[1], "' among them; name one, or choose it by a pattern ",
      "(glob)"));
}

}  // namespace

std::optional<std::string> IndexOfPrefix(const std::string& path) {
  std::string index = path + std::string(kIndexSuffix);
  std::error_code error;
  if (!std::filesystem::is_regular_file(index, error)) return std::nullopt;
  return index;
}

std::optional<std::string> FirstIndex(const FoundPath& found,
                                      std::string_view magic) {
  std::string index = found.path;
  if (found.is_folder) {
    const std::vector<std::string> names = Indexes(found, found.glob);
    if (names.empty()) return std::nullopt;
    index = found.Below(names.front());
  } else if (!found.HasMagic(magic)) {
    if (!HasSuffix(index, kIdsSuffix)) return std::nullopt;
    index = WithSuffix(index, kIndexSuffix);
  }
  if (!FileBegins(index, magic)) return std::nullopt;
  return index;
}

absl::StatusOr<IndexPair> FindIndexPair(const FoundPath& found,
                                        const TokenSourceOptions& options) {
  std::string path = found.path;
  if (found.is_folder) {
    PONIENTE_ASSIGN_OR_RETURN(path, ChooseIndex(found, options));
  }
  if (!HasSuffix(path, kIndexSuffix) && !HasSuffix(path, kIdsSuffix)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", path,
                     "' ends neither in .idx nor in .bin, so that the other "
                     "file of its dataset cannot be found; rename it"));
  }
  return IndexPair{WithSuffix(path, kIndexSuffix),
                   WithSuffix(path, kIdsSuffix)};
}

}  // namespace poniente::internal
