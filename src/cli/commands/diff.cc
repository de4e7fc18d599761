// SPDX-License-Identifier: Apache-2.0
// poniente diff: from which step on two runs differ, and how.

#include "poniente/diff.h"

#include <array>
#include <charconv>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/arguments.h"
#include "cli/command_line.h"
#include "cli/commands/commands.h"
#include "cli/commands/load_config.h"
#include "cli/screen/console.h"
#include "cli/screen/json.h"
#include "cli/screen/progress.h"
#include "cli/screen/table.h"
#include "index/max_samples.h"
#include "poniente/config.h"

namespace poniente::cli {
namespace {

// As of diff(1), but that its 2 is a wrong command line here.
constexpr int kExitSame = kExitOk;
constexpr int kExitDiffers = 1;
constexpr int kExitTrouble = 3;

constexpr size_t kMaxRows = 20;

Json DiffToJson(const DiffValue& value) {
  if (const auto* number = std::get_if<uint64_t>(&value)) return *number;
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return Json();
}

// As many as tell the number from its neighbours.
std::string Digits(double number) {
  std::array<char, 32> text;
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  return std::string(text.data(), end);
}

std::string InWords(const DiffValue& value) {
  if (const auto* number = std::get_if<uint64_t>(&value)) {
    return absl::StrCat(*number);
  }
  if (const auto* real = std::get_if<double>(&value)) return Digits(*real);
  if (const auto* text = std::get_if<std::string>(&value)) {
    return text->empty() ? "''" : OneLine(*text);
  }
  return "-";
}

Json DiffToJson(const std::optional<SampleOrigin>& origin) {
  if (!origin) return Json();
  Json json;
  json["path"] = origin->path;
  json["item"] = origin->item;
  json["epoch"] = origin->epoch;
  json["token_begin"] = origin->token_begin;
  json["token_end"] = origin->token_end;
  return json;
}

Json RampToJson(const std::string& ramp) {
  return ramp.empty() ? Json() : Json(ramp);
}

void PrintDiffAsJson(const poniente::RunDiff& diff) {
  const std::optional<FirstDifference>& first = diff.compared.first;
  Json json;
  json["same"] = !first.has_value();
  json["first_step"] = first ? Json(first->step) : Json();
  json["first_sample"] = Json();
  if (first) {
    json["first_sample"] = {{"position", first->position},
                            {"a", DiffToJson(first->a)},
                            {"b", DiffToJson(first->b)}};
  }
  json["compared_steps"] = diff.compared.steps;
  json["differences"] = Json::array();
  for (const RunDifference& difference : diff.differences) {
    Json row;
    row["what"] = difference.what;
    row["a"] = DiffToJson(difference.a);
    row["b"] = DiffToJson(difference.b);
    row["a_ramp"] = RampToJson(difference.ramp_a);
    row["b_ramp"] = RampToJson(difference.ramp_b);
    row["from_step"] =
        difference.from_step ? Json(*difference.from_step) : Json();
    row["decides_tokens"] = difference.decides_tokens;
    json["differences"].push_back(std::move(row));
  }
  PrintJson(json);
}

std::string InWords(const DiffValue& value, const std::string& ramp) {
  return absl::StrCat(InWords(value), ramp.empty() ? "" : ", ramp of ", ramp);
}

std::string InWords(const std::optional<SampleOrigin>& origin) {
  if (!origin) return "nothing";
  return absl::StrCat("'", OneLine(origin->path), "' item ", origin->item,
                      " epoch ", origin->epoch, " tokens ", origin->token_begin,
                      "..", origin->token_end);
}

void PrintRows(const char* header, const poniente::RunDiff& diff,
               bool decides_tokens) {
  std::vector<std::vector<std::string>> rows = {
      {header, "A", "B", "from step"}};
  size_t left_out = 0;
  for (const RunDifference& difference : diff.differences) {
    if (difference.decides_tokens != decides_tokens) continue;
    if (rows.size() > kMaxRows) {
      ++left_out;
      continue;
    }
    rows.push_back(
        {OneLine(difference.what), InWords(difference.a, difference.ramp_a),
         InWords(difference.b, difference.ramp_b),
         difference.from_step ? absl::StrCat(*difference.from_step) : "-"});
  }
  if (rows.size() == 1) return;
  std::cout << '\n';
  PrintTable(rows);
  if (left_out > 0) {
    std::cout << "  and " << left_out << " more; --json has all\n";
  }
}

void PrintDiffAsText(const std::string& a, const std::string& b,
                     const poniente::RunDiff& diff) {
  const std::optional<FirstDifference>& first = diff.compared.first;
  std::cout << "A: " << OneLine(a) << "\nB: " << OneLine(b) << '\n';
  if (first) {
    std::cout << "differ from step " << first->step << " on: position "
              << first->position << " is " << OneLine(InWords(first->a))
              << " in A, " << OneLine(InWords(first->b)) << " in B\n";
  } else {
    std::cout << "see the same tokens in all of the "
              << Plural(diff.compared.steps, "step") << " that both have\n";
  }
  PrintRows("what decides tokens", diff, true);
  PrintRows("what does not decide tokens", diff, false);
}

// Ends the run of the tool: nothing has been compared.
int Trouble(const absl::Status& status) {
  FailConfig(status);
  return kExitTrouble;
}

absl::StatusOr<poniente::RunDiff> Diff(const TracedRun& a, const TracedRun& b,
                                       uint64_t most_samples) {
  std::optional<Progress> progress;
  return DiffRuns(a, b, most_samples, [&](uint64_t done, uint64_t total) {
    if (!progress)
      progress.emplace("comparing", total, /*quiet=*/false,
                       ProgressUnit::kSamples);
    progress->Update(done);
  });
}

}  // namespace

CommandSpec DiffSpec() {
  return {.name = "diff",
          .brief = "say from which step on two runs differ",
          .positionals = "A B",
          .summary =
              "Says from which step on the runs in the TOML files A and B see "
              "different tokens,\nand what differs between them.\nExit code: 0 "
              "if no token differs, 1 if some do, 2 if the command line is "
              "wrong,\n3 if the runs could not be compared.",
          .options = {{"samples", "N",
                       "compare at most N samples one by one; default: 10^9"},
                      JournalOption("journal-a", "A"),
                      JournalOption("journal-b", "B"),
                      {"json", "", "print JSON"}},
          .example = "poniente diff yesterday.toml today.toml"};
}

int RunDiff(const std::vector<std::string>& args) {
  const auto read = ReadCommandLine(DiffSpec(), args);
  if (const int* code = std::get_if<int>(&read)) return *code;
  const Arguments& parsed = std::get<Arguments>(read);
  if (parsed.positionals().size() != 2) {
    return FailUsage("diff: give two CONFIGs; see `poniente diff --help`");
  }
  const auto most =
      parsed.Number("samples", 1000000000, 1, internal::kMaxSamples);
  if (!most.ok()) return FailUsage(std::string(most.status().message()));
  const std::string& path_a = parsed.positionals()[0];
  const std::string& path_b = parsed.positionals()[1];
  const auto a = LoadConfig(path_a, parsed, "journal-a");
  const auto b = LoadConfig(path_b, parsed, "journal-b");
  if (!a.ok()) Trouble(a.status());
  if (!b.ok()) Trouble(b.status());
  if (!a.ok() || !b.ok()) return kExitTrouble;
  const auto diff = Diff(TracedRun(*a), TracedRun(*b), *most);
  if (absl::IsResourceExhausted(diff.status())) {
    return Trouble(absl::ResourceExhaustedError(
        absl::StrCat(diff.status().message(), " with --samples")));
  }
  if (!diff.ok()) return Trouble(diff.status());
  if (parsed.Has("json")) {
    PrintDiffAsJson(*diff);
  } else {
    PrintDiffAsText(path_a, path_b, *diff);
  }
  return diff->compared.first ? kExitDiffers : kExitSame;
}

}  // namespace poniente::cli
