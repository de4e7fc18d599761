// SPDX-License-Identifier: Apache-2.0
// Reads the command line of a command.

#ifndef PONIENTE_CLI_COMMAND_LINE_H_
#define PONIENTE_CLI_COMMAND_LINE_H_

#include <string>
#include <variant>
#include <vector>

#include "cli/arguments.h"

namespace poniente::cli {

// Returns the parsed arguments. If the arguments contain --help or are wrong,
// prints the help or the error and returns the exit code instead.
std::variant<Arguments, int> ReadCommandLine(
    const CommandSpec& spec, const std::vector<std::string>& args);

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_COMMAND_LINE_H_
