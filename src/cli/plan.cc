// SPDX-License-Identifier: Apache-2.0
// poniente plan: what a configured run will read, before it runs.

#include "config/plan.h"

#include <algorithm>
#include <iostream>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/arguments.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/json.h"
#include "cli/table.h"
#include "poniente/config.h"

namespace poniente::cli {
namespace {

using internal::PlannedRun;
using internal::RunSource;
using internal::RunStage;

CommandSpec Spec() {
  return {.name = "plan",
          .positionals = "CONFIG",
          .summary =
              "Says what the run in the TOML file CONFIG will read: samples, "
              "tokens and epochs per source and stage.",
          .options = {{"steps", "N", "plan N steps instead of data.steps"},
                      {"json", "", "print JSON"}},
          .example = "poniente plan train.toml --json"};
}

std::string StageName(const RunStage& stage, size_t number) {
  return stage.name.empty() ? absl::StrCat("stage ", number) : stage.name;
}

Json ToJson(const PlannedRun& plan) {
  Json json;
  json["steps"] = plan.steps;
  json["batch_size"] = plan.batch_size;
  json["seq_len"] = plan.seq_len;
  json["exact"] = plan.is_exact;
  json["stages"] = Json::array();
  for (size_t i = 0; i < plan.stages.size(); ++i) {
    const RunStage& stage = plan.stages[i];
    Json row;
    row["name"] = StageName(stage, i);
    row["first_step"] = stage.first_step;
    row["end_step"] = stage.end_step;
    row["samples"] = stage.samples;
    row["lr_scale"] = stage.lr_scale;
    json["stages"].push_back(std::move(row));
  }
  json["sources"] = Json::array();
  std::vector<std::string> above;
  for (const RunSource& source : plan.sources) {
    above.resize(source.depth);
    std::string path;
    for (const std::string& name : above) absl::StrAppend(&path, name, "/");
    above.push_back(source.name);
    Json row;
    row["path"] = path + source.name;
    row["kind"] = source.kind;
    row["epoch_samples"] = source.length ? Json(*source.length) : Json();
    row["samples"] = source.samples;
    row["tokens"] = source.total() * plan.seq_len;
    row["epochs"] = source.epochs() ? Json(*source.epochs()) : Json();
    json["sources"].push_back(std::move(row));
  }
  return json;
}

std::string Rounded(double count) {
  return Count(static_cast<uint64_t>(count + 0.5));
}

void PrintStages(const PlannedRun& plan) {
  std::vector<std::vector<std::string>> rows = {
      {"stage", "steps", "samples", "tokens", "lr_scale"}};
  for (size_t i = 0; i < plan.stages.size(); ++i) {
    const RunStage& stage = plan.stages[i];
    rows.push_back({StageName(stage, i),
                    absl::StrCat(stage.first_step, "..", stage.end_step - 1),
                    Count(stage.samples), Count(stage.samples * plan.seq_len),
                    absl::StrCat(stage.lr_scale)});
  }
  PrintTable(rows);
}

void PrintSources(const PlannedRun& plan) {
  std::vector<std::vector<std::string>> rows(1);
  rows[0] = {"source", "an epoch's tokens"};
  for (size_t i = 0; i < plan.stages.size(); ++i) {
    rows[0].push_back(StageName(plan.stages[i], i));
  }
  rows[0].insert(rows[0].end(), {"all samples", "all tokens", "epochs"});
  for (const RunSource& source : plan.sources) {
    std::vector<std::string>& row = rows.emplace_back();
    row.push_back(absl::StrCat(std::string(2 * source.depth, ' '), source.name,
                               source.kind == "store" ? "" : "/"));
    row.push_back(source.length ? Count(*source.length * plan.seq_len)
                                : "endless");
    for (size_t i = 0; i < plan.stages.size(); ++i) {
      const double samples = static_cast<double>(plan.stages[i].samples);
      row.push_back(
          samples == 0
              ? "-"
              : absl::StrFormat("%.2f%%", 100 * source.samples[i] / samples));
    }
    row.push_back(Rounded(source.total()));
    row.push_back(Rounded(source.total() * plan.seq_len));
    row.push_back(source.epochs() ? absl::StrFormat("%.3f", *source.epochs())
                                  : "-");
  }
  PrintTable(rows);
}

void PrintNotes(const PlannedRun& plan) {
  if (!plan.is_exact) {
    std::cout << "  note: of a run this long, sources below a flat, concat or "
                 "take are expected values\n";
  }
  for (const RunSource& source : plan.sources) {
    if (source.total() == 0) {
      std::cout << "  note: '" << source.name << "' is never drawn"
                << (source.length == uint64_t{0}
                        ? ": it holds no whole window of seq_len tokens\n"
                        : "\n");
    }
  }
}

}  // namespace

int RunPlan(const std::vector<std::string>& args) {
  const auto read = ReadCommandLine(Spec(), args);
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
  const std::string& path = parsed->positionals()[0];
  const auto config = Config::Load(path);
  if (!config.ok()) return FailConfig(config.status());
  const auto plan = internal::MakePlan(*config, steps);
  if (!plan.ok()) return FailConfig(plan.status());
  if (parsed->Has("json")) {
    PrintJson(ToJson(*plan));
    return kExitOk;
  }
  const uint64_t tokens_per_step = plan->batch_size * plan->seq_len;
  std::cout << path << ": " << Plural(plan->steps, "step") << " of "
            << plan->batch_size << " x " << plan->seq_len << " = "
            << Count(tokens_per_step) << " tokens, vocabulary '"
            << config->vocabulary().tokenizer << "' of "
            << config->vocabulary().size << " ids\n\n";
  PrintStages(*plan);
  std::cout << '\n';
  PrintSources(*plan);
  PrintNotes(*plan);
  return kExitOk;
}

}  // namespace poniente::cli
