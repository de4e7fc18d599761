// SPDX-License-Identifier: Apache-2.0
// The commands of the tool. Each runs with the arguments that follow its name,
// prints its result to standard output and everything else to standard error,
// and gives the exit code. To add one: declare it here, list it in main.cc.

#ifndef PONIENTE_CLI_COMMANDS_H_
#define PONIENTE_CLI_COMMANDS_H_

#include <string>
#include <vector>

#include "cli/arguments.h"

namespace poniente::cli {

CommandSpec DiffSpec();
int RunDiff(const std::vector<std::string>& args);

CommandSpec FindSpec();
int RunFind(const std::vector<std::string>& args);

int RunInspect(const std::vector<std::string>& args);
int RunPack(const std::vector<std::string>& args);
int RunPlan(const std::vector<std::string>& args);

CommandSpec ShowSpec();
int RunShow(const std::vector<std::string>& args);

CommandSpec VerifySpec();
int RunVerify(const std::vector<std::string>& args);

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_COMMANDS_H_
