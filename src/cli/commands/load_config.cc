// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/load_config.h"

#include <filesystem>
#include <optional>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "cli/screen/console.h"
#include "util/status_macros.h"

namespace poniente::cli {

namespace {

absl::StatusOr<Config> WithWarnings(absl::StatusOr<Config> config) {
  if (config.ok()) {
    for (const std::string& warning : config->warnings()) Warn(warning);
  }
  return config;
}

}  // namespace

absl::StatusOr<Config> LoadConfig(const std::string& path) {
  return WithWarnings(Config::Load(path));
}

Option JournalOption(const std::string& name, const std::string& run) {
  return {
      name, "FILE",
      absl::StrCat(run, " under the changes of this journal (data.journal)")};
}

absl::StatusOr<Config> LoadConfig(const std::string& path,
                                  const Arguments& arguments,
                                  const std::string& option) {
  const std::optional<std::string> journal = arguments.Text(option);
  if (!journal.has_value()) return LoadConfig(path);
  PONIENTE_ASSIGN_OR_RETURN(Run run, LoadRun(path));
  std::error_code error;
  const std::filesystem::path file = std::filesystem::absolute(*journal, error);
  if (error || !std::filesystem::exists(file, error)) {
    return absl::NotFoundError(
        absl::StrCat("--", option, ": there is no file '", *journal, "'"));
  }
  run.journal = file;
  return WithWarnings(Config::Create(run));
}

absl::StatusOr<Config> EvalOrSelf(const Config& config,
                                  const std::optional<std::string>& eval) {
  if (!eval.has_value()) return config;
  return config.Eval(*eval);
}

}  // namespace poniente::cli
