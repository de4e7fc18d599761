// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.h"

#include <iostream>
#include <utility>

#include "cli/screen/console.h"

namespace poniente::cli {

std::variant<Arguments, int> ReadCommandLine(
    const CommandSpec& spec, const std::vector<std::string>& args) {
  absl::StatusOr<Arguments> arguments = Arguments::Parse(spec, args);
  if (!arguments.ok()) {
    return FailUsage(std::string(arguments.status().message()));
  }
  if (arguments->Has("help")) {
    std::cout << Usage(spec);
    return kExitOk;
  }
  return *std::move(arguments);
}

}  // namespace poniente::cli
