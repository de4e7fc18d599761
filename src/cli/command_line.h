// SPDX-License-Identifier: Apache-2.0
// How every command begins: with its arguments, or the exit code that ends it.

#ifndef PONIENTE_CLI_COMMAND_LINE_H_
#define PONIENTE_CLI_COMMAND_LINE_H_

#include <string>
#include <variant>
#include <vector>

#include "cli/arguments.h"

namespace poniente::cli {

// Returns the exit code if nothing is left to do: --help or what is wrong with
// the arguments has been printed.
std::variant<Arguments, int> ReadCommandLine(
    const CommandSpec& spec, const std::vector<std::string>& args);

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_COMMAND_LINE_H_
