// SPDX-License-Identifier: Apache-2.0
// poniente help: what `poniente --help` and `poniente COMMAND --help` say.

#include "cli/commands/help.h"

#include <algorithm>
#include <iostream>
#include <variant>

#include "absl/strings/str_cat.h"
#include "cli/command_line.h"
#include "cli/commands/commands.h"
#include "cli/screen/console.h"
#include "cli/screen/json.h"
#include "util/nearest_name.h"

namespace poniente::cli {
namespace {

// "  left      meaning"
void AppendTable(const Meanings& rows, std::string* text) {
  size_t width = 0;
  for (const auto& [left, meaning] : rows) {
    width = std::max(width, left.size());
  }
  for (const auto& [left, meaning] : rows) {
    absl::StrAppend(text, "  ", left, std::string(width + 2 - left.size(), ' '),
                    meaning, "\n");
  }
}

Json HelpToJson(const CommandSpec& spec) {
  Json json;
  json["name"] = spec.name;
  json["brief"] = spec.brief;
  json["arguments"] = spec.positionals;
  json["summary"] = spec.summary;
  json["options"] = Json::array();
  for (const Option& option : spec.options) {
    json["options"].push_back(
        {{"name", "--" + option.name},
         {"value", option.value.empty() ? Json() : Json(option.value)},
         {"repeatable", option.repeatable},
         {"help", option.help}});
  }
  json["example"] = spec.example;
  return json;
}

Json HelpToJson(const Meanings& rows, const char* left) {
  Json json = Json::array();
  for (const auto& [name, meaning] : rows) {
    json.push_back({{left, name}, {"meaning", meaning}});
  }
  return json;
}

Json HelpToJson(std::span<const CommandSpec> specs) {
  Json json;
  json["commands"] = Json::array();
  for (const CommandSpec& spec : specs) {
    json["commands"].push_back(HelpToJson(spec));
  }
  json["exit_codes"] = HelpToJson(ExitCodes(), "code");
  json["environment"] = HelpToJson(EnvironmentVariables(), "variable");
  return json;
}

}  // namespace

Meanings ExitCodes() {
  return {{"0", "the work is done"},
          {"1", "the work could not be done, or a check found something wrong"},
          {"2", "the command line is wrong"},
          {"128+N", "ended by signal N: 130 by Ctrl-C"}};
}

Meanings EnvironmentVariables() {
  return {{"NO_COLOR", "set and not empty: no colours"},
          {"TERM", "unset or 'dumb': no colours, progress in plain lines"}};
}

std::string ToolUsage(std::span<const CommandSpec> specs) {
  std::string text = "usage: poniente COMMAND [ARGUMENTS]\n\ncommands:\n";
  Meanings commands;
  for (const CommandSpec& spec : specs) {
    commands.emplace_back(spec.name, spec.brief);
  }
  AppendTable(commands, &text);
  text += "\nexit codes:\n";
  AppendTable(ExitCodes(), &text);
  text += "\nenvironment:\n";
  AppendTable(EnvironmentVariables(), &text);
  return absl::StrCat(text,
                      "\n`poniente COMMAND --help` prints the options and an "
                      "example,\n`poniente --version` prints the version.\n");
}

CommandSpec HelpSpec() {
  return {.name = "help",
          .brief = "say what the tool, or one command, can do",
          .positionals = "[COMMAND]",
          .summary = "Says what the tool can do, or what COMMAND can.",
          .options = {{"json", "", "print JSON"}},
          .example = "poniente help pack"};
}

int RunHelp(const std::vector<std::string>& args) {
  const auto read = ReadCommandLine(HelpSpec(), args);
  if (const int* code = std::get_if<int>(&read)) return *code;
  const Arguments& arguments = std::get<Arguments>(read);
  const auto& wanted = arguments.positionals();
  const bool as_json = arguments.Has("json");
  const std::vector<CommandSpec> specs = CommandSpecs();
  if (wanted.empty()) {
    if (as_json) {
      PrintJson(HelpToJson(specs));
    } else {
      std::cout << ToolUsage(specs);
    }
    return kExitOk;
  }
  if (wanted.size() > 1) {
    return FailUsage("help: give one COMMAND; see `poniente help --help`");
  }
  std::vector<std::string> names;
  for (const CommandSpec& spec : specs) {
    if (spec.name == wanted[0]) {
      if (as_json) {
        PrintJson(HelpToJson(spec));
      } else {
        std::cout << Usage(spec);
      }
      return kExitOk;
    }
    names.push_back(spec.name);
  }
  return FailUsage(absl::StrCat("help: unknown command '", wanted[0], "'",
                                internal::DidYouMean(wanted[0], names),
                                "; see `poniente --help`"));
}

}  // namespace poniente::cli
