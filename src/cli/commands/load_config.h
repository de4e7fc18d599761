// SPDX-License-Identifier: Apache-2.0
// How every command opens the configuration that it was given.

#ifndef PONIENTE_CLI_COMMANDS_LOAD_CONFIG_H_
#define PONIENTE_CLI_COMMANDS_LOAD_CONFIG_H_

#include <string>

#include "absl/status/statusor.h"
#include "poniente/config.h"

namespace poniente::cli {

// Config::Load(), with what may not be meant said on standard error.
absl::StatusOr<Config> LoadConfig(const std::string& path);

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_COMMANDS_LOAD_CONFIG_H_
