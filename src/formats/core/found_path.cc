// SPDX-License-Identifier: Apache-2.0
#include "formats/core/found_path.h"

#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "io/files/descriptors.h"
#include "util/one_line.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kHeadBytes = 4096;

absl::Status ListFolder(FoundPath* found) {
  std::error_code error;
  fs::directory_iterator it;
  (void)CallWithDescriptors([&] {
    it = fs::directory_iterator(found->path, error);
    return -error.value();
  });
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    std::error_code ignored;
    const std::string name = it->path().filename().string();
    if (it->is_directory(ignored)) {
      found->folders.push_back(name);
    } else {
      // Includes pipes and broken links, so that they cause errors and are not
      // left out silently.
      found->files.push_back(name);
    }
  }
  if (error) {
    const bool is_limit = error == std::errc::too_many_files_open;
    const std::string what =
        absl::StrCat("'", found->path, "': cannot be listed: ", error.message(),
                     is_limit ? "; raise the limit of open files (ulimit -n)"
                              : "; check the permissions");
    return is_limit ? absl::ResourceExhaustedError(what)
                    : absl::UnavailableError(what);
  }
  std::sort(found->files.begin(), found->files.end());
  std::sort(found->folders.begin(), found->folders.end());
  return absl::OkStatus();
}

bool Holds(const std::vector<std::string>& sorted, std::string_view name) {
  return std::binary_search(sorted.begin(), sorted.end(), name,
                            std::less<std::string_view>());
}

}  // namespace

bool FoundPath::HasFile(std::string_view name) const {
  return Holds(files, name);
}
bool FoundPath::HasFolder(std::string_view name) const {
  return Holds(folders, name);
}
std::vector<std::string> FoundPath::Chosen(const std::string& own) const {
  return Matching(files, glob.empty() ? own : glob);
}
std::string FoundPath::Below(std::string_view name) const {
  return absl::StrCat(path, "/", Absl(name));
}
bool FoundPath::HasMagic(std::string_view magic) const {
  return BeginsWith(head, magic);
}

absl::StatusOr<FoundPath> FindPath(const std::string& path) {
  FoundPath found;
  found.path = path;
  while (found.path.size() > 1 && found.path.back() == '/') {
    found.path.pop_back();
  }
  std::error_code error;
  const fs::file_status status = fs::status(found.path, error);
  if (status.type() == fs::file_type::not_found) {
    return absl::NotFoundError(
        absl::StrCat("there is nothing at '", path, "'; check the path"));
  }
  if (error) {
    return absl::UnavailableError(
        absl::StrCat("'", path, "': ", error.message()));
  }
  if (fs::is_directory(status)) {
    found.is_folder = true;
    PONIENTE_RETURN_IF_ERROR(ListFolder(&found));
    return found;
  }
  if (!fs::is_regular_file(status)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", path, "' is neither a file nor a folder"));
  }
  PONIENTE_ASSIGN_OR_RETURN(FileBytes file, FileBytes::Open(found.path));
  found.bytes = file.size();
  PONIENTE_ASSIGN_OR_RETURN(found.head, ReadHead(file, kHeadBytes));
  found.file = std::make_shared<const FileBytes>(std::move(file));
  return found;
}

bool IsRegularFile(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

bool HasSuffix(std::string_view name, std::string_view suffix) {
  return name.size() > suffix.size() && name.ends_with(suffix);
}

absl::StatusOr<std::string> BelowFolder(const std::string& folder,
                                        std::string_view name) {
  const fs::path relative(name);
  bool leaves = name.empty() || relative.is_absolute() ||
                name.find('\0') != std::string_view::npos;
  for (const fs::path& part : relative) leaves = leaves || part == "..";
  if (leaves) {
    return absl::InvalidArgumentError(
        absl::StrCat("the file name '", OneLine(name), "' leads out of '",
                     folder, "'; it is not read"));
  }
  return absl::StrCat(folder, "/", Absl(name));
}

std::vector<std::string> Matching(const std::vector<std::string>& names,
                                  const std::string& pattern) {
  std::vector<std::string> matching;
  for (const std::string& name : names) {
    if (::fnmatch(pattern.c_str(), name.c_str(), FNM_PERIOD) == 0) {
      matching.push_back(name);
    }
  }
  return matching;
}

}  // namespace poniente::internal
