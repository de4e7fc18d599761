// SPDX-License-Identifier: Apache-2.0
#include "config/hub_cache.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

namespace fs = std::filesystem;

std::string FromEnvironment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
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

// The folders below <config> that hold Arrow files: <version>/<hash>.
std::vector<fs::path> Prepared(const fs::path& config) {
  std::vector<fs::path> found;
  for (const std::string& version : FoldersIn(config)) {
    for (const std::string& hash : FoldersIn(config / version)) {
      const fs::path folder = config / version / hash;
      if (HoldsArrow(folder)) found.push_back(folder);
    }
  }
  return found;
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

absl::StatusOr<std::string> FindInHubCache(std::string_view name,
                                           std::string_view config) {
  const fs::path cache = HubCacheFolder();
  const fs::path dataset =
      cache / absl::StrReplaceAll(Absl(name), {{"/", "___"}});
  const std::vector<std::string> configs = FoldersIn(dataset);
  std::vector<fs::path> found;
  std::vector<std::string> with_data;
  for (const std::string& one : configs) {
    if (!config.empty() && one != config) continue;
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
        "; where there is a network: python3 -c 'import datasets; "
        "datasets.load_dataset(\"",
        Absl(name), "\"", second,
        ")', or set HF_DATASETS_CACHE to where it lies"));
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
