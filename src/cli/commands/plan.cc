// SPDX-License-Identifier: Apache-2.0
// poniente plan: what a configured run will read, before it runs.

#include "poniente/plan.h"

#include <cmath>
#include <iostream>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "cli/arguments.h"
#include "cli/command_line.h"
#include "cli/commands/commands.h"
#include "cli/commands/load_config.h"
#include "cli/plan_views/page_file.h"
#include "cli/plan_views/plan_html.h"
#include "cli/plan_views/plan_json.h"
#include "cli/plan_views/plan_notes.h"
#include "cli/plan_views/plan_table.h"
#include "cli/screen/console.h"
#include "cli/screen/json.h"
#include "poniente/config.h"

namespace poniente::cli {
namespace {

absl::StatusOr<double> MaxRepeats(const Arguments& arguments) {
  const std::optional<std::string> text = arguments.Text("max-repeats");
  if (!text.has_value()) return kMaxRepeats;
  double value = 0;
  if (!absl::SimpleAtod(*text, &value) || !std::isfinite(value) || value < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "plan: --max-repeats must be a number of at least 0, got '", *text,
        "'"));
  }
  return value;
}

void PrintHead(const std::string& path, const Config& config,
               const PlannedRun& plan) {
  std::cout << OneLine(path) << ": " << Plural(plan.steps, "step") << ", "
            << Plural(plan.samples, "sample") << ", "
            << ShortCount(static_cast<double>(plan.tokens)) << " tokens";
  if (!config.vocabulary().tokenizer.empty()) {
    std::cout << ", vocabulary '" << OneLine(config.vocabulary().tokenizer)
              << "' of " << config.vocabulary().size << " ids";
  }
  std::cout << "\n\n";
}

}  // namespace

CommandSpec PlanSpec() {
  return {.name = "plan",
          .brief = "say what a configured run will read",
          .positionals = "CONFIG",
          .summary =
              "Says what the run in the TOML file CONFIG will read: tokens, "
              "samples and epochs\nper source and stage, repeats, and how much "
              "attention short samples save.",
          .options = {{"steps", "N", "plan N steps instead of data.steps"},
                      {"max-repeats", "X",
                       "warn of sources read more than X times (default 4)"},
                      JournalOption(),
                      {"json", "", "print JSON"},
                      {"series", "", "with --json: the run over time as well"},
                      {"html", "FILE",
                       "write an HTML page that shows the run over time"}},
          .example = "poniente plan train.toml --html plan.html"};
}

int RunPlan(const std::vector<std::string>& args) {
  const auto read = ReadCommandLine(PlanSpec(), args);
  if (const int* code = std::get_if<int>(&read)) return *code;
  const Arguments* const parsed = &std::get<Arguments>(read);
  if (parsed->positionals().size() != 1) {
    return FailUsage("plan: give one CONFIG; see `poniente plan --help`");
  }
  std::optional<uint64_t> steps;
  if (parsed->Has("steps")) {
    const auto number = parsed->Number("steps", 1, 1, uint64_t{1} << 40);
    if (!number.ok()) return FailUsage(std::string(number.status().message()));
    steps = *number;
  }
  const auto max_repeats = MaxRepeats(*parsed);
  if (!max_repeats.ok()) {
    return FailUsage(std::string(max_repeats.status().message()));
  }
  if (parsed->Has("series") && !parsed->Has("json")) {
    return FailUsage("plan: --series can only be used with --json");
  }
  const std::string& path = parsed->positionals()[0];
  const auto config = LoadConfig(path, *parsed);
  if (!config.ok()) return FailConfig(config.status());
  const auto plan = MakePlan(*config, steps, *max_repeats);
  if (!plan.ok()) return FailConfig(plan.status());
  if (const std::optional<std::string> page = parsed->Text("html")) {
    const absl::Status written = WritePage(*page, PlanPage(*plan, path));
    if (!written.ok()) return Fail(written);
  }
  if (parsed->Has("json")) {
    PrintJson(PlanJson(*plan, parsed->Has("series")));
  } else {
    PrintHead(path, *config, *plan);
    PrintPlan(*plan, std::cout);
  }
  return kExitOk;
}

}  // namespace poniente::cli
