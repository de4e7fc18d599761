// SPDX-License-Identifier: Apache-2.0
// The command line of `poniente pack`.

#ifndef PONIENTE_CLI_COMMANDS_PACK_ARGUMENTS_H_
#define PONIENTE_CLI_COMMANDS_PACK_ARGUMENTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/arguments.h"
#include "pack/packing.h"

namespace poniente::cli {

std::vector<Option> PackOptions();

struct PackCommand {
  internal::PackRequest request;
  // Which one said what part to pack; empty if the command line did, or none.
  std::string launcher;
  // What may be a mistake in the inputs.
  std::vector<std::string> warnings;
  bool json = false;
  bool quiet = false;
};

// Errors: InvalidArgument for a wrong command line; others where it is right,
//     but what it names cannot be read.
absl::StatusOr<PackCommand> ReadPackCommand(const Arguments& arguments);

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_COMMANDS_PACK_ARGUMENTS_H_
