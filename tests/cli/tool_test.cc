// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(ToolTest, AnUnknownCommandNamesTheNearest) {
  EXPECT_THAT(RunTool("pakc"),
              FailsWith(2, AllOf(HasSubstr("unknown command 'pakc'"),
                                 HasSubstr("did you mean 'pack'?"))));
}

}  // namespace
}  // namespace poniente::testing
