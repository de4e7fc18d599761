// SPDX-License-Identifier: Apache-2.0
// poniente completion: a script that lets bash complete the tool's command
// lines. It holds all words, so that completing runs nothing.

#include <iostream>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/command_line.h"
#include "cli/commands/commands.h"
#include "cli/screen/console.h"
#include "cli/screen/json.h"

namespace poniente::cli {
namespace {

constexpr char kHead[] =
    R"(# bash completion for poniente; made by `poniente completion bash`
_poniente_reply() {
  mapfile -t COMPREPLY < <(compgen "$@" -- "$cur")
}

_poniente_files() {
  compopt -o filenames 2> /dev/null
  _poniente_reply "$@"
}

_poniente() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev="" options=""
  COMPREPLY=()
)";

constexpr char kWords[] = R"(    return
  fi
  prev=${COMP_WORDS[COMP_CWORD - 1]}
  # In --name=value the '=' is a word of its own.
  if [[ $cur == "=" ]]; then
    cur=""
  elif [[ $prev == "=" ]]; then
    prev=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  case ${COMP_WORDS[1]}:$prev in
)";

constexpr char kPlaces[] = R"(  esac
  if [[ $cur == -* ]]; then
    _poniente_reply -W "$options"
    return
  fi
  case ${COMP_WORDS[1]} in
)";

constexpr char kTail[] = R"(  esac
}

complete -F _poniente poniente
)";

std::string JoinedWords(const std::vector<std::string>& words) {
  return absl::StrCat("_poniente_reply -W \"", absl::StrJoin(words, " "), "\"");
}

std::string AfterOption(const Option& option) {
  const std::vector<std::string> values = FixedValues(option.value);
  if (!values.empty()) return JoinedWords(values) + "; return";
  if (option.value == "DIR") return "_poniente_files -d; return";
  for (const char* file : {"FILE", "PATH", "CONFIG", "STORE"}) {
    if (option.value == file) return "_poniente_files -f; return";
  }
  return "return";
}

std::string InPlace(const CommandSpec& spec,
                    const std::vector<std::string>& commands) {
  if (spec.positionals == "[COMMAND]") return JoinedWords(commands);
  const std::vector<std::string> values = FixedValues(spec.positionals);
  return values.empty() ? "_poniente_files -f" : JoinedWords(values);
}

std::string BashCompletion(std::span<const CommandSpec> specs) {
  std::vector<std::string> commands;
  std::string options;
  std::string values;
  std::string places;
  for (const CommandSpec& spec : specs) {
    commands.push_back(spec.name);
    std::vector<std::string> names = {"--help"};
    for (const Option& option : spec.options) {
      names.push_back("--" + option.name);
      if (option.value.empty()) continue;
      absl::StrAppend(&values, "    ", spec.name, ":--", option.name, ") ",
                      AfterOption(option), " ;;\n");
    }
    absl::StrAppend(&options, "    ", spec.name, ") options=\"",
                    absl::StrJoin(names, " "), "\" ;;\n");
  }
  for (const CommandSpec& spec : specs) {
    if (spec.positionals.empty()) continue;
    absl::StrAppend(&places, "    ", spec.name, ") ", InPlace(spec, commands),
                    " ;;\n");
  }
  std::vector<std::string> first = commands;
  first.insert(first.end(), {"--help", "--version"});
  return absl::StrCat(kHead, "  if ((COMP_CWORD == 1)); then\n    ",
                      JoinedWords(first), "\n", kWords, values,
                      "  esac\n  case ${COMP_WORDS[1]} in\n", options, kPlaces,
                      places, kTail);
}

}  // namespace

CommandSpec CompletionSpec() {
  return {.name = "completion",
          .brief = "print a script that completes command lines",
          .positionals = "bash",
          .summary =
              "Prints a script for bash that completes commands, options and "
              "their values. If\nthe package bash-completion is installed, "
              "bash loads an installed script by\nitself.",
          .options = {{"json", "", "print JSON: the script as one text"}},
          .example = "source <(poniente completion bash)"};
}

int RunCompletion(const std::vector<std::string>& args) {
  const auto read = ReadCommandLine(CompletionSpec(), args);
  if (const int* code = std::get_if<int>(&read)) return *code;
  const Arguments& arguments = std::get<Arguments>(read);
  const auto& shells = arguments.positionals();
  if (shells != std::vector<std::string>{"bash"}) {
    return FailUsage(absl::StrCat("completion: expected 'bash', got '",
                                  absl::StrJoin(shells, " "),
                                  "'; see `poniente completion --help`"));
  }
  const std::string script = BashCompletion(CommandSpecs());
  if (arguments.Has("json")) {
    PrintJson({{"text", script}});
  } else {
    std::cout << script;
  }
  return kExitOk;
}

}  // namespace poniente::cli
