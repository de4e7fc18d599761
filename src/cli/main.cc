// SPDX-License-Identifier: Apache-2.0
// The command-line tool: finds the command and runs it.

#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "poniente/version.h"
#include "util/nearest_name.h"

namespace poniente::cli {
namespace {

struct Command {
  const char* name;
  int (*run)(const std::vector<std::string>& args);
  const char* summary;
};

constexpr Command kCommands[] = {
    {"pack", RunPack, "make a token store from text"},
    {"inspect", RunInspect, "say what a token store holds"},
    {"plan", RunPlan, "say what a configured run will read"},
    {"show", RunShow, "say what a step of a run sees"},
    {"find", RunFind, "say which steps read an item or a document"},
    {"diff", RunDiff, "say from which step on two runs differ, and how"},
    {"verify", RunVerify, "check that stores hold what was written"},
};

void PrintUsage(std::ostream& out) {
  out << "usage: poniente COMMAND [ARGUMENTS]\n\ncommands:\n";
  for (const Command& command : kCommands) {
    out << "  " << command.name
        << std::string(10 - std::string(command.name).size(), ' ')
        << command.summary << '\n';
  }
  out << "\n`poniente COMMAND --help` has the options and an example.\n";
}

int Run(const std::vector<std::string>& args) {
  if (args.empty()) {
    PrintUsage(std::cerr);
    return kExitUsage;
  }
  if (args[0] == "--help" || args[0] == "-h" || args[0] == "help") {
    PrintUsage(std::cout);
    return kExitOk;
  }
  if (args[0] == "--version") {
    std::cout << "poniente " << Version() << '\n';
    return kExitOk;
  }
  std::vector<std::string> names;
  for (const Command& command : kCommands) {
    if (args[0] == command.name) {
      return command.run({args.begin() + 1, args.end()});
    }
    names.push_back(command.name);
  }
  return FailUsage(absl::StrCat("unknown command '", args[0], "'",
                                internal::DidYouMean(args[0], names),
                                "; see `poniente --help`"));
}

}  // namespace
}  // namespace poniente::cli

int main(int argc, char** argv) {
  try {
    const int code = poniente::cli::Run({argv + 1, argv + argc});
    if (std::cout.flush()) return code;
    return poniente::cli::Fail(
        absl::DataLossError("cannot write to standard output"));
  } catch (const std::exception& error) {
    // The library throws nothing; the standard library may be out of memory.
    return poniente::cli::Fail(absl::InternalError(error.what()));
  }
}
