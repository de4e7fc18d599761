// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/run_tool.h"
#include "tests/support/temp_dir.h"

namespace poniente::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kEscape[] = "\033";

TEST(TerminalTest, ErrorsAreRedOnATerminal) {
  PONIENTE_NEEDS_TERMINALS();
  const ToolRun run = RunOnTerminal("inspect nowhere", "TERM=xterm");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.out,
              StartsWith("\033[1;31mponiente:\033[0m there is nothing"));
}

TEST(TerminalTest, WarningsAreYellowOnATerminal) {
  PONIENTE_NEEDS_TERMINALS();
  const TempDir folder;
  WriteFile(folder.path("text.bz2"), "BZh9 not really");
  const ToolRun run = RunOnTerminal(
      "pack " + folder.path("text.bz2") + " --out " + folder.path("store"),
      "TERM=xterm");
  EXPECT_THAT(run, Prints(HasSubstr("\033[33mponiente: warning:\033[0m ")));
}

TEST(TerminalTest, NoColoursWhereTheyAreNotWanted) {
  PONIENTE_NEEDS_TERMINALS();
  for (const char* environment :
       {"TERM=xterm NO_COLOR=1", "TERM=dumb", "-u TERM", "TERM="}) {
    const ToolRun run = RunOnTerminal("inspect nowhere", environment);
    EXPECT_THAT(run.out, AllOf(StartsWith("poniente: there is nothing"),
                               Not(HasSubstr(kEscape))))
        << environment;
  }
  EXPECT_THAT(RunTool("inspect nowhere", "TERM=xterm").err,
              Not(HasSubstr(kEscape)));
}

TEST(TerminalTest, AnEmptyNoColorMeansNothing) {
  PONIENTE_NEEDS_TERMINALS();
  EXPECT_THAT(RunOnTerminal("inspect nowhere", "TERM=xterm NO_COLOR=").out,
              HasSubstr(kEscape));
}

}  // namespace
}  // namespace poniente::testing
