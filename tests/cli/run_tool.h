// SPDX-License-Identifier: Apache-2.0
// Runs the tool as a shell would, and keeps what it said.

#ifndef PONIENTE_TESTS_CLI_RUN_TOOL_H_
#define PONIENTE_TESTS_CLI_RUN_TOOL_H_

#include <gtest/gtest.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <string>

#include "tests/support/temp_dir.h"

namespace poniente::testing {

struct ToolRun {
  int exit_code = -1;
  std::string out;
  std::string err;
};

inline void PrintTo(const ToolRun& run, std::ostream* to) {
  *to << "exit code " << run.exit_code << ", output:\n"
      << run.out << "errors:\n"
      << run.err;
}

// `arguments` as in a shell, which also takes redirections and pipes around
// them: RunTool("pack - --out s", "printf abc |").
inline ToolRun RunTool(const std::string& arguments,
                       const std::string& before = "") {
  const TempDir folder;
  const std::string command = "{ " + before + " " PONIENTE_TOOL " " +
                              arguments + "; } >" + folder.path("out") + " 2>" +
                              folder.path("err");
  ToolRun run;
  const int status = std::system(command.c_str());
  run.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  run.out = ReadFile(folder.path("out"));
  run.err = ReadFile(folder.path("err"));
  return run;
}

// Starts the tool, to be waited for or killed; `arguments` as in a shell.
inline pid_t StartTool(const std::string& arguments) {
  const std::string command = "exec " PONIENTE_TOOL " " + arguments;
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }
  return child;
}

inline bool HasTerminals() {
  int terminal = -1;
  int tool = -1;
  if (::openpty(&terminal, &tool, nullptr, nullptr, nullptr) != 0) return false;
  ::close(terminal);
  ::close(tool);
  return true;
}

#define PONIENTE_NEEDS_TERMINALS()          \
  if (!::poniente::testing::HasTerminals()) \
  GTEST_SKIP() << "no terminal can be made; is /dev/pts not mounted?"

// RunTool() on a terminal of so many columns, with these words in front, such
// as "NO_COLOR=1". What is printed comes in `out`, as the terminal shows it.
// REQUIRES: HasTerminals().
inline ToolRun RunOnTerminal(const std::string& arguments,
                             const std::string& environment,
                             unsigned short columns = 80) {
  ToolRun run;
  int terminal = -1;
  winsize size = {};
  size.ws_row = 24;
  size.ws_col = columns;
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    const std::string command =
        "env -u NO_COLOR " + environment + " " PONIENTE_TOOL " " + arguments;
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }
  char buffer[4096];
  ssize_t got = 0;
  while ((got = ::read(terminal, buffer, sizeof buffer)) > 0) {
    run.out.append(buffer, static_cast<size_t>(got));
  }
  ::close(terminal);
  int status = 0;
  ::waitpid(child, &status, 0);
  run.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return run;
}

// Runs `pack`, which makes `store`, three times and returns the shortest time:
// after one slow pack, most kills would come too late for later ones.
template <class Pack>
std::chrono::duration<double> ShortestPack(const std::string& store,
                                           const Pack& pack) {
  auto shortest = std::chrono::duration<double>::max();
  for (int time = 0; time < 3; ++time) {
    std::filesystem::remove_all(store);
    const auto start = std::chrono::steady_clock::now();
    pack();
    shortest = std::min<std::chrono::duration<double>>(
        shortest, std::chrono::steady_clock::now() - start);
  }
  return shortest;
}

MATCHER_P2(FailsWith, exit_code, words,
           "is one line 'poniente: ...' and nothing on standard output") {
  const std::string& err = arg.err;
  return arg.exit_code == exit_code && arg.out.empty() &&
         err.starts_with("poniente: ") && err.find('\n') == err.size() - 1 &&
         ::testing::ExplainMatchResult(::testing::Matcher<std::string>(words),
                                       err, result_listener);
}

MATCHER_P(Prints, words, "ends well and prints") {
  return arg.exit_code == 0 &&
         ::testing::ExplainMatchResult(::testing::Matcher<std::string>(words),
                                       arg.out, result_listener);
}

// What follows `key` on its line.
inline std::string ValueOf(const std::string& text, const std::string& key) {
  size_t at = text.find(key);
  if (at == std::string::npos) return "";
  at = text.find_first_not_of(' ', at + key.size());
  return text.substr(at, text.find('\n', at) - at);
}

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_CLI_RUN_TOOL_H_
