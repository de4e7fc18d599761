// SPDX-License-Identifier: Apache-2.0
// The commands of the tool. Each runs with the arguments that follow its name,
// prints its result to standard output and everything else to standard error,
// and gives the exit code. To add one: declare its two functions here, and list
// it in commands.cc; help, man page and completion follow.

#ifndef PONIENTE_CLI_COMMANDS_COMMANDS_H_
#define PONIENTE_CLI_COMMANDS_COMMANDS_H_

#include <span>
#include <string>
#include <vector>

#include "cli/arguments.h"

namespace poniente::cli {

CommandSpec BenchSpec();
int RunBench(const std::vector<std::string>& args);

CommandSpec CatalogSpec();
int RunCatalog(const std::vector<std::string>& args);

CommandSpec CompletionSpec();
int RunCompletion(const std::vector<std::string>& args);

CommandSpec ConfigSpec();
int RunConfig(const std::vector<std::string>& args);

CommandSpec DiffSpec();
int RunDiff(const std::vector<std::string>& args);

CommandSpec FindSpec();
int RunFind(const std::vector<std::string>& args);

CommandSpec HelpSpec();
int RunHelp(const std::vector<std::string>& args);

CommandSpec InspectSpec();
int RunInspect(const std::vector<std::string>& args);
CommandSpec CatSpec();
int RunCat(const std::vector<std::string>& args);
CommandSpec DocumentsSpec();
int RunDocuments(const std::vector<std::string>& args);

CommandSpec ManSpec();
int RunMan(const std::vector<std::string>& args);

CommandSpec PackSpec();
int RunPack(const std::vector<std::string>& args);

CommandSpec PlanSpec();
int RunPlan(const std::vector<std::string>& args);

CommandSpec ShowSpec();
int RunShow(const std::vector<std::string>& args);

CommandSpec VerifySpec();
int RunVerify(const std::vector<std::string>& args);

CommandSpec SimulateSpec();
int RunSimulate(const std::vector<std::string>& args);

struct Command {
  CommandSpec (*spec)();
  int (*run)(const std::vector<std::string>& args);
};

// All of them, in the order of the help.
std::span<const Command> Commands();
std::vector<CommandSpec> CommandSpecs();

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_COMMANDS_COMMANDS_H_
