// SPDX-License-Identifier: Apache-2.0
// How every command begins: its arguments, or the exit code that ends it.

#ifndef PONIENTE_CLI_COMMAND_LINE_H_
#define PONIENTE_CLI_COMMAND_LINE_H_

#include <string>
#include <variant>
#include <vector>

#include "cli/arguments.h"

namespace poniente::cli {

// The exit code where there is nothing left to do: --help has been printed, or
// what is wrong with the arguments.
std::variant<Arguments, int> ReadCommandLine(
    const CommandSpec& spec, const std::vector<std::string>& args);

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_COMMAND_LINE_H_
