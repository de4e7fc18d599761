// SPDX-License-Identifier: Apache-2.0
// poniente man: the manual page, in man(7).

#include <iostream>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/command_line.h"
#include "cli/commands/commands.h"
#include "cli/commands/help.h"
#include "cli/screen/console.h"
#include "cli/screen/json.h"
#include "poniente/version.h"

namespace poniente::cli {
namespace {

// As it is printed: nothing in it is a request or an escape.
std::string Escaped(std::string_view text) {
  std::string escaped;
  bool begins_line = true;
  for (const char c : text) {
    if (begins_line && (c == '.' || c == '\'')) escaped += "\\&";
    begins_line = c == '\n';
    switch (c) {
      case '\\':
        escaped += "\\e";
        break;
      case '-':
        escaped += "\\-";
        break;
      case '\'':
        escaped += "\\(aq";
        break;
      case '`':
        escaped += "\\(ga";
        break;
      case '~':
        escaped += "\\(ti";
        break;
      case '^':
        escaped += "\\(ha";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string Bold(std::string_view text) {
  return absl::StrCat("\\fB", Escaped(text), "\\fR");
}

std::string Italic(std::string_view text) {
  return absl::StrCat("\\fI", Escaped(text), "\\fR");
}

std::string Item(const std::string& tag, std::string_view text) {
  return absl::StrCat(".TP\n", tag, "\n", Escaped(text), "\n");
}

std::string OptionItem(const Option& option) {
  std::string tag = Bold("--" + option.name);
  if (!option.value.empty()) {
    absl::StrAppend(&tag, " ",
                    FixedValues(option.value).empty() ? Italic(option.value)
                                                      : Bold(option.value));
  }
  return Item(tag, absl::StrCat(option.help,
                                option.repeatable ? "; may be repeated" : ""));
}

std::string CommandSection(const CommandSpec& spec) {
  std::string text = absl::StrCat(".SS ", Escaped("poniente " + spec.name));
  if (!spec.positionals.empty()) {
    absl::StrAppend(&text, " ", Escaped(spec.positionals));
  }
  if (!spec.options.empty()) text += " [OPTIONS]";
  absl::StrAppend(&text, "\n", Escaped(spec.summary), "\n");
  for (const Option& option : spec.options) text += OptionItem(option);
  absl::StrAppend(&text, ".PP\nExample:\n.PP\n.RS 4\n.nf\n");
  for (const absl::string_view line : absl::StrSplit(spec.example, '\n')) {
    absl::StrAppend(&text, Escaped(std::string(line)), "\n");
  }
  return text + ".fi\n.RE\n";
}

std::string Meaning(const Meanings& rows) {
  std::string text;
  for (const auto& [left, meaning] : rows) text += Item(Bold(left), meaning);
  return text;
}

std::string ManPage(std::span<const CommandSpec> specs) {
  std::string text = absl::StrCat(
      ".\\\" made by `poniente man`\n.TH PONIENTE 1 \"\" \"poniente ",
      Escaped(Version()),
      "\" \"User Commands\"\n.SH NAME\n"
      "poniente \\- composes token datasets for language\\-model training\n"
      ".SH SYNOPSIS\n.B poniente\n.I COMMAND\n[\\fIARGUMENTS\\fR]\n.br\n"
      ".B poniente \\-\\-help\n.br\n.B poniente \\-\\-version\n"
      ".SH DESCRIPTION\n"
      "Makes token stores, shows what they hold, and says what a run that a "
      "TOML\nfile describes will read. Results go to standard output; errors, "
      "warnings and\nprogress go to standard error. Every command takes ",
      Bold("--help"), ".\n.SH COMMANDS\n");
  for (const CommandSpec& spec : specs) text += CommandSection(spec);
  return absl::StrCat(text, ".SH EXIT STATUS\n", Meaning(ExitCodes()),
                      ".SH ENVIRONMENT\n", Meaning(EnvironmentVariables()));
}

}  // namespace

CommandSpec ManSpec() {
  return {.name = "man",
          .brief = "print the manual page",
          .positionals = "",
          .summary = "Prints the manual page, in the form that man reads.",
          .options = {{"json", "", "print JSON: the page as one text"}},
          .example = "poniente man | man -l -"};
}

int RunMan(const std::vector<std::string>& args) {
  const auto read = ReadCommandLine(ManSpec(), args);
  if (const int* code = std::get_if<int>(&read)) return *code;
  const Arguments& arguments = std::get<Arguments>(read);
  if (!arguments.positionals().empty()) {
    return FailUsage("man: takes no arguments; see `poniente man --help`");
  }
  const std::string page = ManPage(CommandSpecs());
  if (arguments.Has("json")) {
    PrintJson({{"text", page}});
  } else {
    std::cout << page;
  }
  return kExitOk;
}

}  // namespace poniente::cli
