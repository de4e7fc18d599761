// SPDX-License-Identifier: Apache-2.0
#include "pack/text_inputs.h"

#include <dirent.h>
#include <fnmatch.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "store/manifest/manifest.h"
#include "store/manifest/store_folder.h"
#include "store/posix_file.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

struct CloseFolder {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

std::string LastComponent(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path.substr(path.find_last_of('/') + 1);
}

TextInput InputOf(std::string path, std::string name,
                  const struct stat& facts) {
  TextInput input;
  input.path = std::move(path);
  input.name = std::move(name);
  input.bytes = static_cast<uint64_t>(facts.st_size);
  input.modified_nanoseconds =
      static_cast<uint64_t>(facts.st_mtim.tv_sec) * 1000000000 +
      static_cast<uint64_t>(facts.st_mtim.tv_nsec);
  input.is_regular = S_ISREG(facts.st_mode);
  return input;
}

// Names in a folder: the files of a token store would be packed as text.
class StoreParts {
 public:
  // `is_taken`: it would be packed.
  void Add(std::string_view name, const struct stat& facts, bool is_taken) {
    const bool is_scratch = name.starts_with(kScratchPrefix);
    // A writer that is killed at once leaves nothing but a line in it.
    const bool is_line = name == kLockName && facts.st_size > 0;
    const auto file = StoreFileNamed(name);
    if (file) kinds_.insert(*file);
    has_lock_ |= name == kLockName;
    has_scratch_ |= is_scratch;
    has_line_ |= is_line;
    is_taken_ |= is_taken && (is_scratch || is_line || file.has_value());
  }
  // Of one that is begun, or that has lost one of its files.
  bool AreThere() const {
    const bool is_begun =
        has_line_ || (has_lock_ && (!kinds_.empty() || has_scratch_));
    return is_taken_ && (is_begun || kinds_.size() >= 2);
  }

 private:
  std::set<StoreFile> kinds_;
  bool is_taken_ = false;
  bool has_lock_ = false;
  bool has_scratch_ = false;
  bool has_line_ = false;  // in the lock
};

class Finder {
 public:
  Finder(const std::vector<std::string>& patterns, const std::string& leave_out)
      : patterns_(patterns) {
    has_left_out_ = ::stat(leave_out.c_str(), &left_out_) == 0;
  }

  absl::Status Add(const std::string& input);
  TextInputs Take() { return std::move(found_); }

 private:
  absl::Status Walk(const std::string& folder, const std::string& below,
                    std::vector<TextInput>* files);
  bool Matches(const std::string& name) const;
  bool IsLeftOut(const struct stat& facts) const;
  void Keep(TextInput file);

  const std::vector<std::string>& patterns_;
  struct stat left_out_ = {};
  bool has_left_out_ = false;
  TextInputs found_;
  absl::flat_hash_set<std::string> names_;
};

absl::Status Finder::Add(const std::string& input) {
  if (input == "-") {
    found_.sizes_known = false;
    TextInput standard;
    standard.path = "-";
    standard.name = "stdin";
    Keep(std::move(standard));
    return absl::OkStatus();
  }
  struct stat facts;
  if (::stat(input.c_str(), &facts) != 0)
    return ErrnoError(input, "read input");
  if (!S_ISDIR(facts.st_mode)) {
    if (!S_ISREG(facts.st_mode)) found_.sizes_known = false;
    Keep(InputOf(input, LastComponent(input), facts));
    return absl::OkStatus();
  }
  if (IsLeftOut(facts)) {
    return absl::InvalidArgumentError(
        absl::StrCat("input '", input,
                     "' is also where the store would be written, so the store "
                     "would contain its own files; give another --out"));
  }
  std::vector<TextInput> files;
  PONIENTE_RETURN_IF_ERROR(Walk(input, "", &files));
  std::sort(
      files.begin(), files.end(),
      [](const TextInput& a, const TextInput& b) { return a.name < b.name; });
  for (TextInput& file : files) Keep(std::move(file));
  return absl::OkStatus();
}

absl::Status Finder::Walk(const std::string& folder, const std::string& below,
                          std::vector<TextInput>* files) {
  const std::unique_ptr<DIR, CloseFolder> dir(::opendir(folder.c_str()));
  if (dir == nullptr) return ErrnoError(folder, "open folder");
  StoreParts parts;
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(dir.get());
    if (entry == nullptr) break;
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    const std::string path = absl::StrCat(folder, "/", name);
    const std::string inner = below + name;
    struct stat facts;
    if (::lstat(path.c_str(), &facts) != 0)
      return ErrnoError(path, "read input");
    if (S_ISDIR(facts.st_mode)) {
      if (IsLeftOut(facts)) continue;
      PONIENTE_RETURN_IF_ERROR(Walk(path, inner + "/", files));
      continue;
    }
    const bool is_taken = S_ISREG(facts.st_mode) && Matches(inner);
    parts.Add(name, facts, is_taken);
    if (S_ISLNK(facts.st_mode)) {
      ++found_.left_out.links;
    } else if (!S_ISREG(facts.st_mode)) {
      ++found_.left_out.special;
    } else if (!is_taken) {
      ++found_.left_out.unmatched;
    } else {
      files->push_back(InputOf(path, inner, facts));
    }
  }
  if (errno != 0) return ErrnoError(folder, "read folder");
  if (!parts.AreThere()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "'", folder,
      "' contains files of a token store, whose ids make no sense as text; "
      "name the store itself, which needs its manifest.json and all other "
      "files, or exclude it with --glob"));
}

bool Finder::Matches(const std::string& name) const {
  const auto matches = [&name](const std::string& pattern) {
    const std::string& text =
        pattern.find('/') == std::string::npos ? LastComponent(name) : name;
    return ::fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
  };
  return patterns_.empty() ||
         std::any_of(patterns_.begin(), patterns_.end(), matches);
}

bool Finder::IsLeftOut(const struct stat& facts) const {
  return has_left_out_ && facts.st_dev == left_out_.st_dev &&
         facts.st_ino == left_out_.st_ino;
}

void Finder::Keep(TextInput file) {
  const std::string name = file.name;
  for (int copy = 2; !names_.insert(file.name).second; ++copy) {
    file.name = absl::StrCat(name, "~", copy);
  }
  found_.files.push_back(std::move(file));
}

}  // namespace

absl::StatusOr<TextInputs> FindTextInputs(
    const std::vector<std::string>& inputs,
    const std::vector<std::string>& patterns, const std::string& leave_out) {
  Finder finder(patterns, leave_out);
  for (const std::string& input : inputs) {
    PONIENTE_RETURN_IF_ERROR(finder.Add(input));
  }
  return finder.Take();
}

}  // namespace poniente::internal
