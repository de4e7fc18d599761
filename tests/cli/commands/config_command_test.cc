// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "tests/cli/run_tool.h"
#include "tests/support/temp_dir.h"

namespace poniente::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ConfigCommandTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) {
    std::ofstream(dir_.path(name)) << text;
    return dir_.path(name);
  }

  TempDir dir_;
  const std::string good_ =
      Write("good.toml",
            "[data]\nsteps = 12\nbatch_size = 4\nseq_len = 16\n"
            "[data.mixture]\nweb = { tokens = 16000, weight = 3, take = 500 }\n"
            "small = { weight = 1, flat = { a = { tokens = 160 }, b = { tokens "
            "= 320 } } }\n");
};

TEST_F(ConfigCommandTest, ShowsTheTree) {
  EXPECT_THAT(
      RunTool("config " + good_),
      Prints(
          AllOf(HasSubstr("good.toml: 12 steps of 4 x 16, 1 stage, 3 sources"),
                ContainsRegex("data +mixture +endless"),
                ContainsRegex("  web +take of tokens +500 +16,000 tokens"),
                ContainsRegex("  small +flat_mixture +30"),
                ContainsRegex("    a +tokens +10 +160 tokens"))));
}

TEST_F(ConfigCommandTest, ShowsThresholdsThatWereComputed) {
  std::vector<float> scores(100);
  for (size_t i = 0; i < scores.size(); ++i) {
    scores[i] = static_cast<float>(i) / 4;
  }
  std::ofstream(dir_.path("s.f32"), std::ios::binary)
      .write(reinterpret_cast<const char*>(scores.data()), 400);
  const std::string text = Write(
      "scored.toml",
      "[data]\nsteps = 12\nbatch_size = 4\nseq_len = 16\n"
      "[data.mixture]\nweb = { tokens = 1600, weight = 3, filter = { scores = "
      "'s.f32', at_least = { quantile = 0.75 } } }\n");
  EXPECT_THAT(RunTool("config " + text),
              Prints(ContainsRegex("data.mixture.web.filter +quantile 0.75 "
                                   "+18.75 +25 of 100")));
  const auto json = nlohmann::json::parse(RunTool("config --json " + text).out);
  ASSERT_EQ(json["thresholds"].size(), 1u);
  EXPECT_EQ(json["thresholds"][0]["stated"], "quantile 0.75");
  EXPECT_EQ(json["thresholds"][0]["at_least"], 18.75);
  EXPECT_EQ(json["thresholds"][0]["chosen"], 25);
}

TEST_F(ConfigCommandTest, PrintsARunThatPrintsItself) {
  const ToolRun printed = RunTool("config --print " + good_);
  EXPECT_THAT(printed, Prints(StartsWith("[data]\nseed = 0\nsteps = 12\n")));
  const std::string again = Write("again.toml", printed.out);
  EXPECT_EQ(RunTool("config --print " + again).out, printed.out);
}

TEST_F(ConfigCommandTest, JsonHasTheSourcesAndTheToml) {
  const ToolRun run = RunTool("config --json " + good_);
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["steps"], 12);
  EXPECT_EQ(json["sources"][1]["path"], "small/a");
  EXPECT_EQ(json["sources"][1]["tokens"], 160);
  EXPECT_TRUE(json["sources"][1]["location"].is_null());
  EXPECT_EQ(json["toml"], RunTool("config --print " + good_).out);
}

TEST_F(ConfigCommandTest, ExplainsKeysHoweverTheyAreWritten) {
  for (const char* key :
       {"ramp_share", "data.stages.ramp_share", "data.stages[2].ramp_share"}) {
    EXPECT_THAT(RunTool(std::string("config --explain '") + key + "'"),
                Prints(AllOf(HasSubstr("in       [[data.stages]]\n"),
                             HasSubstr("default  no ramp\n"))))
        << key;
  }
  EXPECT_THAT(RunTool("config --explain data.mixture.web.weight"),
              Prints(HasSubstr("below mixture: relative to the weights")));
  // A key of several tables: all of them.
  const ToolRun several = RunTool("config --explain batch_size --json");
  EXPECT_EQ(nlohmann::json::parse(several.out).size(), 5u);
}

TEST_F(ConfigCommandTest, AnUnknownKeyHasANearestOne) {
  EXPECT_THAT(RunTool("config --explain ramp_shares"),
              FailsWith(2, HasSubstr("did you mean 'ramp_share'?")));
}

TEST_F(ConfigCommandTest, AllErrorsOfAFileAreSaid) {
  const std::string bad =
      Write("bad.toml",
            "[data]\nsteps = 0\nbatch_size = 4\nseq_len = 16\n"
            "pth = 'x'\n");
  const ToolRun run = RunTool("config " + bad);
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err,
              AllOf(HasSubstr("bad.toml:2:9: data.steps must be an integer"),
                    HasSubstr("bad.toml:1:1: data needs one of path"),
                    HasSubstr("bad.toml:5:1: data.pth is not a known key; did "
                              "you mean 'path'?")));
}

TEST_F(ConfigCommandTest, WarningsGoToStandardError) {
  const std::string file =
      Write("kempner.toml",
            "[train]\nbatch_size = 4\nseq_len = 16\nmax_steps = 5\n"
            "[data]\n[[data.datasets]]\nname = 'x'\ntokens = 5000\n");
  const ToolRun run = RunTool("config " + file);
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.err, AllOf(HasSubstr("kempner.toml:2:14: train.batch_size"),
                             HasSubstr("per device")));
}

// Not at the step where it is found out, nor only by a loader.
TEST_F(ConfigCommandTest, ARunThatReadsMoreThanIsAllowedIsRefused) {
  const std::string run =
      "[data]\nbatch_size = 4\nseq_len = 16\n[data.mixture]\n"
      "a = { weight = 0.9, tokens = 100000 }\n[data.mixture.m]\nweight = 0.1\n"
      "[data.mixture.m.mixture]\n"
      "x = { weight = 1, tokens = 160000, max_epochs = 3 }\n"
      "y = { weight = 1, tokens = 1600000 }\n";
  EXPECT_THAT(RunTool("config " + Write("endless.toml", run)),
              FailsWith(1, AllOf(HasSubstr("endless.toml: 'm' is drawn beyond"),
                                 HasSubstr("max_epochs"))));
  const auto with_end = [&](int steps) {
    return RunTool("config " + Write("run.toml", "[data]\nsteps = " +
                                                     std::to_string(steps) +
                                                     "\n" + run.substr(7)));
  };
  EXPECT_EQ(with_end(1000).exit_code, 0);
  EXPECT_EQ(with_end(1'000'000).exit_code, 1);
}

TEST_F(ConfigCommandTest, ALimitOfEpochsSaysHowManyStepsThereAre) {
  const auto of_steps = [&](const std::string& steps) {
    return RunTool(
        "config " +
        Write("run.toml",
              "[data]\nbatch_size = 7\nseq_len = 16\nsteps = " + steps +
                  "\n[data.mixture]\n"
                  "a = { weight = 0.9, tokens = 100000 }\n"
                  "x = { weight = 0.1, tokens = 160000, "
                  "max_epochs = 3 }\n"));
  };
  const ToolRun refused = of_steps("1000000");
  EXPECT_EQ(refused.exit_code, 1);
  static const std::regex whole(
      "samples \\(([0-9]+) whole steps\\): component");
  std::smatch found;
  ASSERT_TRUE(std::regex_search(refused.err, found, whole)) << refused.err;
  const std::string steps = found[1];
  EXPECT_EQ(of_steps(steps).exit_code, 0) << steps;
  EXPECT_EQ(of_steps(std::to_string(std::stoull(steps) + 1)).exit_code, 1);
}

TEST_F(ConfigCommandTest, WhatALoaderWouldRefuseIsRefused) {
  const auto config = [&](const std::string& runtime,
                          const std::string& sizes =
                              "batch_size = 4\nseq_len = 16\n") {
    return RunTool("config " +
                   Write("run.toml", "[data]\nsteps = 2\n" + sizes +
                                         "tokens = 900000\ntokenizer = 'x'\n"
                                         "vocab_size = 50000\n[runtime]\n" +
                                         runtime));
  };
  EXPECT_EQ(config("token_type = 'u16'\n").exit_code, 0);
  EXPECT_THAT(config("token_type = 'u8'\n"),
              FailsWith(1, HasSubstr("run.toml:8:1: runtime: token_type u8 "
                                     "does not hold the ids of 'x', which has "
                                     "50000")));
  EXPECT_THAT(config("tensors = ['labels']\n"),
              FailsWith(1, AllOf(HasSubstr("run.toml:8:1: runtime: labels mark "
                                           "what is to be ignored by -100"),
                                 ::testing::Not(HasSubstr("run.toml: ")))));
  EXPECT_THAT(config("", "batch_size = 4_000_000_000\nseq_len = 65536\n"),
              FailsWith(1, HasSubstr("run.toml: a batch of 4000000000 x 65536 "
                                     "tokens")));
}

TEST_F(ConfigCommandTest, WrongCommandLinesAreUsageErrors) {
  EXPECT_THAT(RunTool("config"), FailsWith(2, HasSubstr("give one CONFIG")));
  EXPECT_THAT(RunTool("config --explain seed " + good_),
              FailsWith(2, HasSubstr("cannot be combined with a CONFIG")));
  EXPECT_THAT(RunTool("config " + dir_.path("none.toml")),
              FailsWith(1, HasSubstr("cannot read configuration")));
}

}  // namespace
}  // namespace poniente::testing
