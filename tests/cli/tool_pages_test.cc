// SPDX-License-Identifier: Apache-2.0
// Help, manual page and completion, which all tell of every command and option.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/cli/run_tool.h"
#include "tests/support/temp_dir.h"

namespace poniente::testing {
namespace {

using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// The first words of the lines below `title`, up to an empty line; the rest.
std::vector<std::pair<std::string, std::string>> ListBelow(
    const std::string& title, const std::string& text) {
  std::vector<std::pair<std::string, std::string>> list;
  const size_t at = text.find(title + "\n");
  if (at == std::string::npos) return list;
  std::istringstream lines(text.substr(at + title.size() + 1));
  for (std::string line; std::getline(lines, line) && !line.empty();) {
    if (line.size() < 3 || line[2] == ' ') continue;  // goes on from above
    const size_t end = line.find(' ', 2);
    const size_t rest = line.find_first_not_of(' ', end);
    list.emplace_back(line.substr(2, end - 2),
                      rest == std::string::npos ? "" : line.substr(rest));
  }
  return list;
}

std::vector<std::string> CommandNames() {
  std::vector<std::string> names;
  for (const auto& [name, brief] :
       ListBelow("commands:", RunTool("--help").out)) {
    EXPECT_FALSE(brief.empty()) << name;
    names.push_back(name);
  }
  return names;
}

std::vector<std::string> OptionNames(const std::string& command) {
  std::vector<std::string> names;
  for (const auto& [name, help] :
       ListBelow("options:", RunTool(command + " --help").out)) {
    EXPECT_FALSE(help.empty()) << command << " " << name;
    names.push_back(name);
  }
  return names;
}

TEST(ToolPagesTest, EveryCommandHasAnExample) {
  ASSERT_THAT(CommandNames(), Contains("pack"));
  for (const std::string& name : CommandNames()) {
    const ToolRun run = RunTool(name + " --help");
    EXPECT_THAT(run, Prints(HasSubstr("usage: poniente " + name)));
    EXPECT_THAT(run.out.substr(run.out.find("example:\n")),
                HasSubstr("poniente " + name));
  }
}

TEST(ToolPagesTest, EveryCommandCanPrintItsResultAsJson) {
  for (const std::string& name : CommandNames()) {
    EXPECT_THAT(OptionNames(name), Contains("--json")) << name;
  }
}

Json RunJson(const std::string& arguments) {
  const ToolRun run = RunTool(arguments + " --json");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return Json::parse(run.out, nullptr, /*allow_exceptions=*/false);
}

TEST(ToolPagesTest, PagesAreTextsInJson) {
  EXPECT_EQ(RunJson("man")["text"], RunTool("man").out);
  EXPECT_EQ(RunJson("completion bash")["text"], RunTool("completion bash").out);
}

TEST(ToolPagesTest, HelpTellsTheSameInJson) {
  const Json help = RunJson("help");
  std::vector<std::string> names;
  for (const Json& command : help["commands"]) {
    const std::string name = command["name"];
    names.push_back(name);
    EXPECT_EQ(RunJson("help " + name), command);
    EXPECT_THAT(RunTool("help " + name).out,
                HasSubstr(command["summary"].get<std::string>()));
    std::vector<std::string> options;
    for (const Json& option : command["options"]) {
      options.push_back(option["name"]);
    }
    options.push_back("--help");
    EXPECT_EQ(options, OptionNames(name));
  }
  EXPECT_EQ(names, CommandNames());
  EXPECT_EQ(help["exit_codes"].size(),
            ListBelow("exit codes:", RunTool("help").out).size());
  EXPECT_EQ(help["environment"][0]["variable"], "NO_COLOR");
  const Json pack = RunJson("help pack");
  const auto split =
      std::find_if(pack["options"].begin(), pack["options"].end(),
                   [](const Json& one) { return one["name"] == "--split"; });
  ASSERT_NE(split, pack["options"].end());
  EXPECT_EQ((*split)["value"], "files|paragraphs");
  EXPECT_EQ(pack["options"].back()["value"], Json());
}

TEST(ToolPagesTest, DocsListTheCommands) {
  const std::string docs = ReadFile(PONIENTE_SOURCE_DIR "/docs/tool.md");
  for (const auto& [name, brief] :
       ListBelow("commands:", RunTool("--help").out)) {
    EXPECT_THAT(docs, HasSubstr("\n| `" + name + "` | " + brief + " |\n"));
  }
}

TEST(ToolPagesTest, DocsListExitCodesAndVariables) {
  const std::string docs = ReadFile(PONIENTE_SOURCE_DIR "/docs/tool.md");
  const std::string help = RunTool("--help").out;
  const auto codes = ListBelow("exit codes:", help);
  const auto variables = ListBelow("environment:", help);
  ASSERT_FALSE(codes.empty() || variables.empty());
  for (const auto& [code, meaning] : codes) {
    EXPECT_THAT(docs, HasSubstr("\n| " + code + " | " + meaning));
  }
  for (const auto& [name, meaning] : variables) {
    EXPECT_THAT(docs, HasSubstr("\n| `" + name + "` | "));
  }
}

std::string ManEscaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    escaped += c == '-' ? std::string("\\-") : std::string(1, c);
  }
  return escaped;
}

TEST(ToolPagesTest, TheManualPageTellsOfEveryCommandAndOption) {
  const std::string page = RunTool("man").out;
  for (const std::string& command : CommandNames()) {
    const size_t begin = page.find(".SS poniente " + ManEscaped(command));
    ASSERT_NE(begin, std::string::npos) << command;
    const std::string section =
        page.substr(begin, page.find("\n.S", begin + 1) - begin);
    EXPECT_THAT(section, HasSubstr("Example:"));
    for (const std::string& option : OptionNames(command)) {
      if (option == "--help") continue;  // told once
      EXPECT_THAT(section, HasSubstr("\\fB" + ManEscaped(option) + "\\fR"));
    }
  }
  EXPECT_THAT(page, AllOf(HasSubstr(".SH EXIT STATUS\n"),
                          HasSubstr(".SH ENVIRONMENT\n")));
}

TEST(ToolPagesTest, TheManualPageIsWellFormed) {
  const TempDir folder;
  const std::string err = folder.path("err");
  const int status =
      std::system((PONIENTE_TOOL " man | groff -man -ww -Tutf8 >" +
                   folder.path("page") + " 2>" + err)
                      .c_str());
  ASSERT_EQ(status, 0) << ReadFile(err);
  EXPECT_EQ(ReadFile(err), "");
  EXPECT_THAT(ReadFile(folder.path("page")),
              HasSubstr("Says what the tool can do"));
}

// What bash offers at the end of the words; the last may be empty.
std::vector<std::string> Completions(const std::vector<std::string>& words) {
  const TempDir folder;
  std::string script = PONIENTE_TOOL
      " completion bash > script && bash -n script"
      " && . ./script && COMP_WORDS=(poniente";
  for (const std::string& word : words) script += " '" + word + "'";
  script += ") COMP_CWORD=" + std::to_string(words.size()) +
            " && _poniente && printf '%s\\n' \"${COMPREPLY[@]}\" > replies";
  WriteFile(folder.path("test.sh"), script);
  std::filesystem::create_directory(folder.path("stores"));
  WriteFile(folder.path("a run.toml"), "");
  const int status =
      std::system(("cd " + folder.path("") + " && bash test.sh").c_str());
  EXPECT_EQ(status, 0) << script;
  std::vector<std::string> replies;
  std::istringstream lines(ReadFile(folder.path("replies")));
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) replies.push_back(line);
  }
  return replies;
}

TEST(ToolPagesTest, BashCompletesCommands) {
  EXPECT_THAT(Completions({"pl"}), ElementsAre("plan"));
  EXPECT_THAT(Completions({"--v"}), ElementsAre("--version"));
  EXPECT_THAT(Completions({"help", "insp"}), ElementsAre("inspect"));
  std::vector<std::string> all = CommandNames();
  all.insert(all.end(), {"--help", "--version"});
  EXPECT_THAT(Completions({""}), ::testing::UnorderedElementsAreArray(all));
}

TEST(ToolPagesTest, BashCompletesOptions) {
  EXPECT_THAT(Completions({"plan", "--js"}), ElementsAre("--json"));
  EXPECT_THAT(Completions({"plan", "train.toml", "--js"}),
              ElementsAre("--json"));
  for (const std::string& command : CommandNames()) {
    EXPECT_THAT(Completions({command, "--"}),
                ::testing::UnorderedElementsAreArray(OptionNames(command)));
  }
}

TEST(ToolPagesTest, BashCompletesValues) {
  const auto values = UnorderedElementsAre("files", "paragraphs");
  EXPECT_THAT(Completions({"pack", "--split", ""}), values);
  EXPECT_THAT(Completions({"pack", "--split", "="}), values);
  EXPECT_THAT(Completions({"pack", "--split", "=", "pa"}),
              ElementsAre("paragraphs"));
  EXPECT_THAT(Completions({"pack", "--out", "st"}), ElementsAre("stores"));
  EXPECT_THAT(Completions({"pack", "--out", "a"}), IsEmpty());
  EXPECT_THAT(Completions({"plan", "--steps", ""}), IsEmpty());
}

TEST(ToolPagesTest, BashCompletesFiles) {
  EXPECT_THAT(Completions({"plan", "a"}), ElementsAre("a run.toml"));
  EXPECT_THAT(Completions({"man", ""}), IsEmpty());
  EXPECT_THAT(Completions({"completion", ""}), ElementsAre("bash"));
}

TEST(ToolPagesTest, OtherShellsAreRefused) {
  EXPECT_THAT(RunTool("completion zsh"),
              FailsWith(2, HasSubstr("expected 'bash', got 'zsh'")));
  EXPECT_THAT(RunTool("completion"), FailsWith(2, EndsWith("--help`\n")));
  EXPECT_THAT(RunTool("man page"), FailsWith(2, HasSubstr("no arguments")));
}

}  // namespace
}  // namespace poniente::testing
