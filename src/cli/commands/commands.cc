// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/commands.h"

namespace poniente::cli {
namespace {

constexpr Command kCommands[] = {
    // clang-format off: one line each
    {PackSpec, RunPack},
    {InspectSpec, RunInspect},
    {CatSpec, RunCat},
    {DocumentsSpec, RunDocuments},
    {ConfigSpec, RunConfig},
    {PlanSpec, RunPlan},
    {ShowSpec, RunShow},
    {FindSpec, RunFind},
    {DiffSpec, RunDiff},
    {VerifySpec, RunVerify},
    {CatalogSpec, RunCatalog},
    {SimulateSpec, RunSimulate},
    {BenchSpec, RunBench},
    {HelpSpec, RunHelp},
    {CompletionSpec, RunCompletion},
    {ManSpec, RunMan},
    // clang-format on
};

}  // namespace

std::span<const Command> Commands() { return kCommands; }

std::vector<CommandSpec> CommandSpecs() {
  std::vector<CommandSpec> specs;
  for (const Command& command : kCommands) specs.push_back(command.spec());
  return specs;
}

}  // namespace poniente::cli
