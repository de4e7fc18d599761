// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "tests/cli/run_tool.h"

namespace poniente::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(ToolTest, WithoutACommandItSaysWhichThereAre) {
  const ToolRun run = RunTool("");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, AllOf(HasSubstr("usage:"), HasSubstr("pack"),
                             HasSubstr("inspect")));
}

TEST(ToolTest, HelpIsNoError) {
  EXPECT_THAT(RunTool("--help"), Prints(HasSubstr("pack")));
  EXPECT_THAT(RunTool("pack --help"),
              Prints(AllOf(HasSubstr("--delimiter TEXT"),
                           HasSubstr("example:\n  poniente pack"))));
  EXPECT_THAT(RunTool("inspect --help"), Prints(HasSubstr("--json")));
  EXPECT_THAT(RunTool("--version"), Prints(HasSubstr("poniente ")));
}

TEST(ToolTest, HelpOfACommandIsTheSameBothWays) {
  EXPECT_EQ(RunTool("help inspect").out, RunTool("inspect --help").out);
  EXPECT_EQ(RunTool("help").out, RunTool("--help").out);
  EXPECT_THAT(RunTool("help inpsect"),
              FailsWith(2, HasSubstr("did you mean 'inspect'?")));
}

TEST(ToolTest, HelpTellsExitCodesAndVariables) {
  EXPECT_THAT(RunTool("--help"),
              Prints(AllOf(HasSubstr("exit codes:\n  0 "),
                           HasSubstr("environment:\n  NO_COLOR "))));
}

// How the tool ends, run with a standard output that nobody reads.
int StatusWithoutReader(void (*handler_of_parent)(int)) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGPIPE, handler_of_parent);
    ::dup2(ends[1], STDOUT_FILENO);
    ::execl(PONIENTE_TOOL, "poniente", "--help", nullptr);
    ::_exit(127);
  }
  ::close(ends[1]);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

TEST(ToolTest, AReaderThatHasGoneAwayEndsTheToolQuietly) {
  for (const auto handler : {SIG_DFL, SIG_IGN}) {
    ::testing::internal::CaptureStderr();
    const int status = StatusWithoutReader(handler);
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE) << status;
  }
}

TEST(ToolTest, AnUnknownCommandNamesTheNearest) {
  EXPECT_THAT(RunTool("pakc"),
              FailsWith(2, AllOf(HasSubstr("unknown command 'pakc'"),
                                 HasSubstr("did you mean 'pack'?"))));
  EXPECT_THAT(RunTool("paln"), FailsWith(2, HasSubstr("did you mean 'plan'?")));
  EXPECT_THAT(RunTool("insp"),
              FailsWith(2, HasSubstr("did you mean 'inspect'?")));
}

}  // namespace
}  // namespace poniente::testing
