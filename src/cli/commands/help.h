// SPDX-License-Identifier: Apache-2.0
// What `poniente --help` says.

#ifndef PONIENTE_CLI_COMMANDS_HELP_H_
#define PONIENTE_CLI_COMMANDS_HELP_H_

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/arguments.h"

namespace poniente::cli {

// Each with its meaning: exit codes, and variables of the environment.
using Meanings = std::vector<std::pair<std::string, std::string>>;
Meanings ExitCodes();
Meanings EnvironmentVariables();

std::string ToolUsage(std::span<const CommandSpec> specs);

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_COMMANDS_HELP_H_
