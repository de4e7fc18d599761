// SPDX-License-Identifier: Apache-2.0
// The options of `poniente pack`, as its help tells them.

#ifndef PONIENTE_CLI_COMMANDS_PACK_OPTIONS_H_
#define PONIENTE_CLI_COMMANDS_PACK_OPTIONS_H_

#include <vector>

#include "cli/arguments.h"

namespace poniente::cli {

std::vector<Option> PackOptions();

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_COMMANDS_PACK_OPTIONS_H_
