// SPDX-License-Identifier: Apache-2.0
// How every command opens the configuration that it was given.

#ifndef PONIENTE_CLI_COMMANDS_LOAD_CONFIG_H_
#define PONIENTE_CLI_COMMANDS_LOAD_CONFIG_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "cli/arguments.h"
#include "poniente/config.h"

namespace poniente::cli {

// Config::Load(), with what may not be meant said on standard error.
absl::StatusOr<Config> LoadConfig(const std::string& path);

// The option of commands that say what a run serves, and what it does: the run
// under the changes of this journal, which must exist, instead of its own.
// Where a command has several runs, each has an option of its own.
Option JournalOption(const std::string& name = "journal",
                     const std::string& run = "the run");
absl::StatusOr<Config> LoadConfig(const std::string& path,
                                  const Arguments& arguments,
                                  const std::string& option = "journal");

// Returns the evaluation `eval` of the configuration; the configuration itself
// if it is not set.
absl::StatusOr<Config> EvalOrSelf(const Config& config,
                                  const std::optional<std::string>& eval);

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_COMMANDS_LOAD_CONFIG_H_
