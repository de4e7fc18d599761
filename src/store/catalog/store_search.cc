// SPDX-License-Identifier: Apache-2.0
#include "store/catalog/store_search.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "store/manifest/manifest.h"
#include "store/manifest/store_folder.h"
#include "store/posix_file.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Text before the number of a part, and before the number of parts.
constexpr std::string_view kPart = "part-";
constexpr std::string_view kOf = "-of-";

// The contents of a folder that the search needs.
struct Listing {
  std::vector<std::string> folders;
  bool has_manifest = false;
  bool has_tokens = false;  // a file named like one of tokens
};

class Search {
 public:
  explicit Search(std::string root) : root_(std::move(root)) {}

  absl::Status Walk(const std::string& relative);
  FoundStores Take() &&;

 private:
  using Id = std::pair<dev_t, ino_t>;

  std::string PathOf(const std::string& relative) const {
    return relative.empty() ? root_ : absl::StrCat(root_, "/", relative);
  }
  absl::Status WalkInto(const std::string& relative);
  static absl::StatusOr<Listing> List(const std::string& path);
  static bool IsOurs(const std::string& path, const Listing& listing);

  const std::string root_;
  std::vector<Id> above_;  // the current folder and those that contain it
  FoundStores found_;
};

absl::Status Search::Walk(const std::string& relative) {
  const std::string path = PathOf(relative);
  struct stat facts;
  if (::stat(path.c_str(), &facts) != 0) {
    if (errno != ENOENT || !relative.empty()) return ErrnoError(path, "open");
    return absl::NotFoundError(
        absl::StrCat("no folder '", path,
                     "'; check the path, or make stores there with "
                     "`poniente pack`"));
  }
  const Id id = {facts.st_dev, facts.st_ino};
  if (std::find(above_.begin(), above_.end(), id) != above_.end()) {
    return absl::OkStatus();  // a link to a folder above
  }
  above_.push_back(id);
  absl::Status walked = WalkInto(relative);
  above_.pop_back();
  return walked;
}

absl::Status Search::WalkInto(const std::string& relative) {
  const std::string path = PathOf(relative);
  PONIENTE_ASSIGN_OR_RETURN(const Listing listing, List(path));
  if (listing.has_manifest) {
    if (IsOurs(path, listing)) {
      found_.stores.push_back(relative);
      return absl::OkStatus();
    }
    found_.others.push_back(relative);
  }
  for (const std::string& name : listing.folders) {
    PONIENTE_RETURN_IF_ERROR(
        Walk(relative.empty() ? name : absl::StrCat(relative, "/", name)));
  }
  return absl::OkStatus();
}

absl::StatusOr<Listing> Search::List(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(path.c_str()),
                                                ::closedir);
  if (dir == nullptr) return ErrnoError(path, "open folder");
  Listing listing;
  while (true) {
    errno = 0;
    const dirent* const entry = ::readdir(dir.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    listing.has_manifest |= name == kManifestName;
    listing.has_tokens |= name.starts_with("tokens-") && name.ends_with(".bin");
    bool is_folder = entry->d_type == DT_DIR;
    if (entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN) {
      struct stat facts;
      const std::string target = absl::StrCat(path, "/", Absl(name));
      is_folder = ::stat(target.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
    }
    if (is_folder) listing.folders.emplace_back(name);
  }
  if (errno != 0) return ErrnoError(path, "read folder");
  return listing;
}

// Returns whether the folder is a token store. A damaged one counts, so that
// its damage is reported.
bool Search::IsOurs(const std::string& path, const Listing& listing) {
  if (listing.has_tokens) return true;
  const absl::StatusOr<std::string> text = ReadManifestText(path);
  if (!text.ok()) return !absl::IsDataLoss(text.status());  // too long
  return absl::StrContains(*text, Absl(kStoreFormat));
}

FoundStores Search::Take() && {
  std::sort(found_.stores.begin(), found_.stores.end());
  std::sort(found_.others.begin(), found_.others.end());
  return std::move(found_);
}

}  // namespace

std::vector<std::string> MissingParts(const std::vector<std::string>& stores) {
  // The numbers of the parts, by the path before "part-" and the number of all
  // parts.
  std::map<std::pair<std::string, uint64_t>, std::set<uint64_t>> divisions;
  for (const std::string& store : stores) {
    const std::string_view path = store;
    const size_t name = path.rfind('/') + 1;  // 0 without a slash
    const std::string_view part = path.substr(name);
    const size_t of = part.find(kOf);
    uint64_t number = 0;
    uint64_t parts = 0;
    if (!part.starts_with(kPart) || of == part.npos ||
        !absl::SimpleAtoi(Absl(part.substr(kPart.size(), of - kPart.size())),
                          &number) ||
        !absl::SimpleAtoi(Absl(part.substr(of + kOf.size())), &parts) ||
        number >= parts) {
      continue;
    }
    divisions[{std::string(path.substr(0, name)), parts}].insert(number);
  }
  std::vector<std::string> sentences;
  for (const auto& [division, there] : divisions) {
    const auto& [before, parts] = division;
    if (there.size() == parts) continue;
    uint64_t first = 0;
    while (there.contains(first)) ++first;
    sentences.push_back(absl::StrFormat(
        "%d of %d parts are missing, the first is '%s%s%05d%s%05d'",
        parts - there.size(), parts, before, Absl(kPart), first, Absl(kOf),
        parts));
  }
  return sentences;
}

absl::StatusOr<FoundStores> FindStores(const std::string& folder) {
  Search search(folder);
  PONIENTE_RETURN_IF_ERROR(search.Walk(""));
  FoundStores found = std::move(search).Take();
  if (!found.stores.empty() && found.stores.front().empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", folder,
        "' is itself a token store; name the folder that its stores are in"));
  }
  return found;
}

}  // namespace poniente::internal
