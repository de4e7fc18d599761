// SPDX-License-Identifier: Apache-2.0
// Names come from files of others; no terminal acts upon what is printed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/cli/run_tool.h"
#include "tests/support/temp_dir.h"

namespace poniente::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Colour, bell, the same by one character of Unicode, text turned around.
const std::string kName = "n\x1b[31m\x07\u009b31m\u202em";

class PrintedNamesTest : public ::testing::Test {
 protected:
  // A store whose tokenizer, folder and document have that name, and a run
  // whose component, stage and number have it.
  PrintedNamesTest() {
    std::string ids;
    for (int i = 0; i < 4000; ++i) ids += std::string("\x05\x00", 2);
    WriteFile(folder_.path(kName + ".bin"), ids);
    EXPECT_EQ(RunTool("pack '" + folder_.path(kName + ".bin") +
                      "' --dtype u16 --vocab-size 99 --tokenizer-name '" +
                      kName + "' --document-end 7 --out '" + Store() + "'")
                  .exit_code,
              0);
    const std::string quoted = "\"n\\u001b[31m\\u0007\\u009b31m\\u202em\"";
    WriteFile(Run(),
              "[data]\nseed = 3\nsteps = 20\nbatch_size = 4\n"
              "seq_len = 16\n[data.mixture]\n" +
                  quoted + " = { weight = 1, path = " + quoted +
                  " }\n[[data.stages]]\nname = " + quoted +
                  "\nstart_step = 7\nweights = { " + quoted + " = 2 }\n");
  }
  std::string Store() const { return folder_.path(kName); }
  std::string Run() const { return folder_.path(kName + ".toml"); }

  static void ExpectHarmless(const std::string& arguments) {
    const ToolRun run = RunTool(arguments);
    for (const std::string& text : {run.out, run.err}) {
      for (const char* const acted : {"\x1b", "\x07", "\u009b", "\u202e"}) {
        EXPECT_THAT(text, Not(HasSubstr(acted))) << arguments;
      }
    }
    EXPECT_FALSE(run.out.empty() && run.err.empty()) << arguments;
  }

  const TempDir folder_;
};

TEST_F(PrintedNamesTest, OfStores) {
  const std::string store = "'" + Store() + "'";
  for (const std::string json : {"", " --json"}) {
    ExpectHarmless("inspect " + store + json);
    ExpectHarmless("inspect --verify " + store + json);
    ExpectHarmless("verify " + store + json);
    ExpectHarmless("documents --names " + store + json);
    ExpectHarmless("pack " + store + json + " --out '" + Store() + "2'");
    ExpectHarmless("catalog '" + folder_.path() + "'" + json);
  }
  ExpectHarmless("inspect " + store + "none");
  ExpectHarmless("cat " + store + " --document 9");
}

TEST_F(PrintedNamesTest, OfRuns) {
  const std::string run = "'" + Run() + "'";
  for (const std::string json : {"", " --json"}) {
    ExpectHarmless("config " + run + json);
    ExpectHarmless("plan " + run + json);
    ExpectHarmless("show --step 3 " + run + json);
    ExpectHarmless("find --source '" + kName + "' --item 1 " + run + json);
    ExpectHarmless("simulate --io --steps 5 " + run + json);
    ExpectHarmless("bench --steps 5 " + run + json);
    ExpectHarmless("verify " + run + json);
    ExpectHarmless("diff " + run + " " + run + json);
  }
  ExpectHarmless("config --print " + run);
  ExpectHarmless("plan " + run + "none");
  // What is printed is the same run.
  const ToolRun printed = RunTool("config --print " + run);
  ASSERT_EQ(printed.exit_code, 0) << printed.err;
  WriteFile(folder_.path("again.toml"), printed.out);
  EXPECT_EQ(RunTool("diff " + run + " " + folder_.path("again.toml")).exit_code,
            0);
}

}  // namespace
}  // namespace poniente::testing
