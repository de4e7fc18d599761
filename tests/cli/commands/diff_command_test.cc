// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "poniente/journal.h"
#include "tests/cli/run_tool.h"
#include "tests/config/small_stores.h"

namespace poniente::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

class DiffTest : public SmallStores {
 protected:
  // Written as `name`.
  std::string Config(const std::string& name, const std::string& weight,
                     const std::string& more = "") const {
    WriteFile(dir_.path(name),
              "[data]\nsteps = 90\nbatch_size = 8\n"
              "seq_len = 20\nblock_size = 16\n"
              "[data.mixture]\n"
              "a = { weight = 1, path = 'a' }\n"
              "c = { weight = 1, path = 'c' }\n"
              "[[data.stages]]\nstart_step = 50\n"
              "weights = { a = " +
                  weight + " }\n" + more);
    return dir_.path(name);
  }
};

TEST_F(DiffTest, TheSameTokensAreNoDifference) {
  const std::string a = Config("a.toml", "2");
  const std::string b = Config("b.toml", "2", "[runtime]\nmax_held = 5\n");
  const ToolRun run = RunTool("diff " + a + " " + b);
  EXPECT_THAT(run,
              Prints(AllOf(HasSubstr("the same tokens in all of the 90 steps"),
                           HasSubstr("what does not decide tokens"),
                           HasSubstr("runtime.max_held"))));
  const Json json = Json::parse(RunTool("diff --json " + a + " " + b).out);
  EXPECT_EQ(json["same"], true);
  EXPECT_TRUE(json["first_step"].is_null());
  EXPECT_EQ(json["compared_steps"], 90);
  ASSERT_EQ(json["differences"].size(), 1u);
  const Json& difference = json["differences"][0];
  EXPECT_EQ(difference["what"], "runtime.max_held");
  EXPECT_EQ(difference["a"], 2);
  EXPECT_EQ(difference["b"], 5);
  EXPECT_EQ(difference["from_step"], 0);
  EXPECT_EQ(difference["decides_tokens"], false);
}

TEST_F(DiffTest, ChangesOfTheJournalsAreToldOneByOne) {
  const std::string a = Config("a.toml", "2");
  const std::string b = Config("b.toml", "2");
  Journal journal;
  const auto add = [&](const RunChange& change, uint64_t sample) {
    const auto line = journal.LineOf(change, sample, sample / 8);
    ASSERT_THAT(line, IsOk());
    ASSERT_THAT(journal.Append(*line), IsOk());
  };
  add(RunChange::Weights({{"a", 3}}), 160);
  WriteFile(dir_.path("a.journal"), journal.bytes());
  add(RunChange::DropItems("c", {{3, 4}}, "request"), 320);
  WriteFile(dir_.path("b.journal"), journal.bytes());
  for (const std::string name : {"a", "b"}) {
    const std::string path = dir_.path(name + ".toml");
    std::string text = ReadFile(path);
    text.insert(text.find("steps"), "journal = '" + name + ".journal'\n");
    WriteFile(path, text);
  }
  const ToolRun run = RunTool("diff " + a + " " + b);
  EXPECT_EQ(run.exit_code, 1) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("change 2"),
                             HasSubstr("sample 320: drop of \"c\" items 3"),
                             Not(HasSubstr("change 1"))));
  const Json json = Json::parse(RunTool("diff --json " + a + " " + b).out);
  bool is_told = false;
  for (const Json& difference : json["differences"]) {
    if (difference["what"] != "change 2") continue;
    is_told = true;
    EXPECT_EQ(difference["from_step"], 40);
    EXPECT_EQ(difference["decides_tokens"], true);
    EXPECT_TRUE(difference["a"].is_null());
  }
  EXPECT_TRUE(is_told);
}

TEST_F(DiffTest, AnotherReasonForAChangeDecidesNoToken) {
  const std::string run = Config("run.toml", "2");
  for (const std::string why : {"loss", "ticket 7"}) {
    Journal journal;
    const auto line =
        journal.LineOf(RunChange::Weights({{"a", 3}}, why), 160, 20);
    ASSERT_THAT(line, IsOk());
    ASSERT_THAT(journal.Append(*line), IsOk());
    WriteFile(dir_.path(why + ".journal"), journal.bytes());
  }
  const ToolRun diff =
      RunTool("diff --json " + run + " " + run + " --journal-a " +
              dir_.path("loss.journal") + " --journal-b '" +
              dir_.path("ticket 7.journal") + "'");
  EXPECT_EQ(diff.exit_code, 0) << diff.err;
  const Json json = Json::parse(diff.out);
  ASSERT_EQ(json["differences"].size(), 1u) << diff.out;
  EXPECT_EQ(json["differences"][0]["what"], "change 1");
  EXPECT_EQ(json["differences"][0]["decides_tokens"], false);
}

TEST_F(DiffTest, EachRunMayHaveAnotherJournal) {
  const std::string run = Config("run.toml", "2");
  Journal journal;
  const auto line = journal.LineOf(RunChange::Weights({{"a", 3}}), 160, 20);
  ASSERT_THAT(line, IsOk());
  ASSERT_THAT(journal.Append(*line), IsOk());
  WriteFile(dir_.path("new.journal"), journal.bytes());
  const std::string option = " " + dir_.path("new.journal");
  EXPECT_THAT(RunTool("diff " + run + " " + run),
              Prints(HasSubstr("the same tokens")));
  for (const std::string which : {"a", "b"}) {
    const ToolRun other =
        RunTool("diff " + run + " " + run + " --journal-" + which + option);
    EXPECT_EQ(other.exit_code, 1) << other.err;
    EXPECT_THAT(other.out, AllOf(HasSubstr("differ from step 20 on"),
                                 HasSubstr("change 1")));
  }
  EXPECT_THAT(RunTool("diff " + run + " " + run + " --journal-a" + option +
                      " --journal-b" + option),
              Prints(HasSubstr("the same tokens")));
  const ToolRun missing =
      RunTool("diff " + run + " " + run + " --journal-b " + dir_.path("none"));
  EXPECT_EQ(missing.exit_code, 3);
  EXPECT_THAT(missing.err, HasSubstr("--journal-b: there is no file"));
}

TEST_F(DiffTest, OtherTokensAreExitCodeOne) {
  const std::string a = Config("a.toml", "2");
  const std::string b = Config("b.toml", "9");
  const ToolRun run = RunTool("diff " + a + " " + b);
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.err, "");
  EXPECT_THAT(run.out,
              AllOf(HasSubstr("differ from step 50 on: position "),
                    ContainsRegex("weight of 'a' +2 +9 +50"),
                    ContainsRegex("share of 'c' +0.333[3]+ +0.1 +50")));
  const ToolRun run_json = RunTool("diff --json " + a + " " + b);
  EXPECT_EQ(run_json.exit_code, 1);
  const Json json = Json::parse(run_json.out);
  EXPECT_EQ(json["same"], false);
  EXPECT_EQ(json["first_step"], 50);
  EXPECT_NE(json["first_sample"]["a"], json["first_sample"]["b"]);
  EXPECT_EQ(json["differences"][0]["what"], "weight of 'a'");
  EXPECT_EQ(json["differences"][0]["from_step"], 50);
  EXPECT_TRUE(json["differences"][0]["a_ramp"].is_null());
}

TEST_F(DiffTest, StatedWeightsAndTheirRampsArePrinted) {
  const std::string a = Config("a.toml", "2", "ramp_steps = 20\n");
  const std::string b = Config("b.toml", "9", "ramp_samples = 80\n");
  const ToolRun run = RunTool("diff " + a + " " + b);
  EXPECT_THAT(run.out,
              ContainsRegex("weight of 'a' +2, ramp of 20 steps \\(160 "
                            "samples\\) +9, ramp of 80 samples +50"));
  const Json json = Json::parse(RunTool("diff --json " + a + " " + b).out);
  const Json& difference = json["differences"][0];
  EXPECT_EQ(difference["what"], "weight of 'a'");
  EXPECT_EQ(difference["a"], 2);
  EXPECT_EQ(difference["a_ramp"], "20 steps (160 samples)");
  EXPECT_EQ(difference["b"], 9);
  EXPECT_EQ(difference["b_ramp"], "80 samples");
}

TEST_F(DiffTest, TroubleIsToldFromADifference) {
  const std::string a = Config("a.toml", "2");
  EXPECT_THAT(RunTool("diff " + a), FailsWith(2, HasSubstr("two CONFIGs")));
  EXPECT_THAT(RunTool("diff " + a + " " + a + " --samples 0"),
              FailsWith(2, HasSubstr("--samples must be")));
  EXPECT_THAT(RunTool("diff " + a + " /nowhere.toml"),
              FailsWith(3, HasSubstr("/nowhere.toml")));
  const std::string wrong = Config("wrong.toml", "-1");
  EXPECT_THAT(RunTool("diff " + wrong + " " + a),
              FailsWith(3, HasSubstr("wrong.toml:")));
  EXPECT_THAT(RunTool("diff --help"),
              Prints(AllOf(HasSubstr("3 if the runs could not be compared"),
                           HasSubstr("example:\n  poniente diff "))));
}

TEST_F(DiffTest, SamplesThatAreComparedOneByOneAreLimited) {
  WriteFile(dir_.path("one.toml"),
            "[data]\nsteps = 20\nbatch_size = 10\nseq_len = 20\n"
            "shuffle = false\nconcat = [ { path = 'a' } ]\n");
  WriteFile(dir_.path("two.toml"),
            "[data]\nsteps = 20\nbatch_size = 10\nseq_len = 20\n"
            "shuffle = false\nconcat = [ { path = 'a' }, { path = 'b' } ]\n");
  const std::string both =
      "diff " + dir_.path("one.toml") + " " + dir_.path("two.toml");
  EXPECT_EQ(RunTool(both).exit_code, 0);
  EXPECT_THAT(RunTool(both + " --samples 100"),
              FailsWith(3, HasSubstr("no sample before step 10 differs")));
}

}  // namespace
}  // namespace poniente::testing
