// SPDX-License-Identifier: Apache-2.0
// Opens what a command line names: a token store, or files of another project
// with options for what their path does not determine.

#ifndef PONIENTE_CLI_COMMANDS_SOURCE_OPTIONS_H_
#define PONIENTE_CLI_COMMANDS_SOURCE_OPTIONS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/arguments.h"
#include "poniente/open_token_source.h"

namespace poniente::cli {

// Returns --dtype and the other source options, then `more`.
std::vector<Option> WithSourceOptions(std::vector<Option> more);

// Returns whether one of them is given, other than `except`.
bool HasSourceOption(const Arguments& arguments, std::string_view except = "");

// Reads them. InvalidArgument, beginning with the command, for wrong values.
absl::StatusOr<TokenSourceOptions> ReadSourceOptions(
    const std::string& command, const Arguments& arguments);

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_COMMANDS_SOURCE_OPTIONS_H_
