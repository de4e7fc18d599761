// SPDX-License-Identifier: Apache-2.0
#include "config/tree/hub_cache.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

namespace fs = std::filesystem;

std::string FromEnvironment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool IsLower(char c) { return c >= 'a' && c <= 'z'; }

// "TinyStories" is "tiny_stories", "HTTPServer2Go" is "http_server2_go".
std::string SnakeCase(std::string_view name) {
  std::string snake;
  for (size_t i = 0; i < name.size(); ++i) {
    const char before = i == 0 ? '_' : name[i - 1];
    const bool is_digit = before >= '0' && before <= '9';
    const bool ends_capitals =
        IsUpper(before) && i + 1 < name.size() && IsLower(name[i + 1]);
    if (IsUpper(name[i]) && (IsLower(before) || is_digit || ends_capitals)) {
      snake += '_';
    }
    snake +=
        IsUpper(name[i]) ? static_cast<char>(name[i] - 'A' + 'a') : name[i];
  }
  return snake;
}

// The dataset's folder, as the library names it or as it is written.
fs::path DatasetFolder(const fs::path& cache, std::string_view name) {
  const size_t slash = name.rfind('/');
  const bool has_owner = slash != std::string_view::npos;
  const std::string owner =
      has_owner ? absl::StrCat(Absl(name.substr(0, slash)), "___") : "";
  const std::string_view dataset = has_owner ? name.substr(slash + 1) : name;
  const fs::path written = cache / absl::StrCat(owner, Absl(dataset));
  const fs::path snake = cache / absl::StrCat(owner, SnakeCase(dataset));
  std::error_code ignored;
  return fs::is_directory(written, ignored) ? written : snake;
}

// Names of the folders in `folder`, sorted.
std::vector<std::string> FoldersIn(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (auto it = fs::directory_iterator(folder, error);
       !error && it != fs::directory_iterator(); it.increment(error)) {
    std::error_code ignored;
    if (it->is_directory(ignored)) names.push_back(it->path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool HoldsArrow(const fs::path& folder) {
  std::error_code error;
  for (auto it = fs::directory_iterator(folder, error);
       !error && it != fs::directory_iterator(); it.increment(error)) {
    if (it->path().extension() == ".arrow") return true;
  }
  return false;
}

// The folders below <config> that hold Arrow files: <version>/<hash>, or
// <version> of what a generator made. A library that was killed leaves
// <hash>.incomplete.
std::vector<fs::path> Prepared(const fs::path& config) {
  std::vector<fs::path> found;
  const auto add = [&found](const fs::path& folder) {
    if (folder.extension() == ".incomplete" || !HoldsArrow(folder)) return;
    found.push_back(folder);
  };
  for (const std::string& version : FoldersIn(config)) {
    add(config / version);
    for (const std::string& hash : FoldersIn(config / version)) {
      add(config / version / hash);
    }
  }
  return found;
}

// The configuration itself if it was prepared; else those that arguments of the
// user's own made of it, such as data files: "default-0123456789abcdef".
std::vector<std::string> Meant(const fs::path& dataset,
                               const std::vector<std::string>& configs,
                               std::string_view config) {
  if (config.empty()) return configs;
  std::vector<std::string> meant;
  for (const std::string& one : configs) {
    if (one == config && !Prepared(dataset / one).empty()) return {one};
    if (absl::StartsWith(one, absl::StrCat(Absl(config), "-"))) {
      meant.push_back(one);
    }
  }
  return meant;
}

}  // namespace

std::string HubCacheFolder() {
  if (const std::string stated = FromEnvironment("HF_DATASETS_CACHE");
      !stated.empty()) {
    return stated;
  }
  if (const std::string home = FromEnvironment("HF_HOME"); !home.empty()) {
    return fs::path(home) / "datasets";
  }
  if (const std::string cache = FromEnvironment("XDG_CACHE_HOME");
      !cache.empty()) {
    return fs::path(cache) / "huggingface" / "datasets";
  }
  return fs::path(FromEnvironment("HOME")) / ".cache" / "huggingface" /
         "datasets";
}

std::string HubSplitGlob(std::string_view split) {
  return absl::StrCat("*-", Absl(split), "[-.]*");
}

absl::StatusOr<std::string> FindInHubCache(std::string_view name,
                                           std::string_view config) {
  const fs::path cache = HubCacheFolder();
  const fs::path dataset = DatasetFolder(cache, name);
  const std::vector<std::string> configs = FoldersIn(dataset);
  std::vector<fs::path> found;
  std::vector<std::string> with_data;
  for (const std::string& one : Meant(dataset, configs, config)) {
    for (fs::path& folder : Prepared(dataset / one)) {
      if (with_data.empty() || with_data.back() != one) {
        with_data.push_back(one);
      }
      found.push_back(std::move(folder));
    }
  }
  const std::string what = absl::StrCat(
      "dataset '", Absl(name), "'",
      config.empty() ? ""
                     : absl::StrCat(" in configuration '", Absl(config), "'"));
  if (found.empty()) {
    const std::string second =
        config.empty() ? "" : absl::StrCat(", \"", Absl(config), "\"");
    return absl::NotFoundError(absl::StrCat(
        what, " is not in '", dataset.string(), "'",
        configs.empty()
            ? ""
            : absl::StrCat(", which has ", absl::StrJoin(configs, ", ")),
        "; on a machine with a network, run python3 -c 'import datasets; "
        "datasets.load_dataset(\"",
        Absl(name), "\"", second,
        ")', or set HF_DATASETS_CACHE to the cache that has it"));
  }
  if (with_data.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(what,
                     " has several configurations: state hf_config, one "
                     "of ",
                     absl::StrJoin(with_data, ", ")));
  }
  if (found.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, " has been prepared several times below '", dataset.string(),
        "': ",
        absl::StrJoin(found, ", ", [](std::string* out, const fs::path& path) {
          out->append(path.string());
        })));
  }
  return found[0].string();
}

}  // namespace poniente::internal
