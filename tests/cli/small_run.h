// SPDX-License-Identifier: Apache-2.0
// A configured run over two small stores, for commands to work on.

#ifndef PONIENTE_TESTS_CLI_SMALL_RUN_H_
#define PONIENTE_TESTS_CLI_SMALL_RUN_H_

#include <gtest/gtest.h>

#include <string>

#include "tests/cli/run_tool.h"
#include "tests/support/temp_dir.h"

namespace poniente::testing {

// "run.toml": 40 steps of 8 samples of 64 tokens; "a" has 9,001 tokens of 2
// bytes, "b" 3,001.
class SmallRun : public ::testing::Test {
 protected:
  SmallRun() {
    Pack("a", 9000);
    Pack("b", 3000);
    WriteFile(config_,
              "[data]\nsteps = 40\nbatch_size = 8\nseq_len = 64\n"
              "mixture.a = { weight = 3, path = 'a' }\n"
              "mixture.b = { weight = 1, path = 'b' }\n");
  }

  // A store of so many documents of a few words.
  void PackParagraphs(const std::string& name, int documents) {
    std::string text;
    for (int i = 0; i < documents; ++i) {
      text += "paragraph " + std::to_string(i * 7919) + " of many\n\n";
    }
    PackText(name, text, "--split paragraphs");
  }

  TempDir folder_;
  const std::string config_ = folder_.path("run.toml");

 private:
  void Pack(const std::string& name, size_t bytes) {
    std::string text;
    while (text.size() < bytes) text += std::to_string(text.size() * 7919);
    PackText(name, text.substr(0, bytes), "");
  }

  void PackText(const std::string& name, const std::string& text,
                const std::string& options) {
    WriteFile(folder_.path(name + ".txt"), text);
    const ToolRun run =
        RunTool("pack " + folder_.path(name + ".txt") + " --out " +
                folder_.path(name) + " --quiet " + options);
    EXPECT_EQ(run.exit_code, 0) << run.err;
  }
};

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_CLI_SMALL_RUN_H_
