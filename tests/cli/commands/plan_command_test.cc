// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/plan_views/plan_notes.h"
#include "cli/plan_views/plan_table.h"
#include "tests/analysis/curriculum.h"
#include "tests/cli/run_tool.h"
#include "tests/config/small_stores.h"

namespace poniente::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

constexpr char kStaged[] = R"([data]
steps = 300
batch_size = 10
seq_len = 20
block_size = 100
[data.mixture]
a = { weight = 0.5, path = "a" }
rest = { weight = 0.5, flat = { b = { path = "b" }, c = { path = "c" }, short = { path = "short" } } }
none = { weight = 0, path = "c" }
[[data.stages]]
name = "end"
start_step = 200
weights = { a = 0.25, rest = 0.75 }
)";

class PlanCommandTest : public SmallStores {
 protected:
  void SetUp() override {
    SmallStores::SetUp();
    std::ofstream(dir_.path("t.toml")) << kStaged;
  }
  ToolRun Plan(const std::string& arguments) {
    return RunTool("plan " + dir_.path("t.toml") + " " + arguments);
  }
};

TEST_F(PlanCommandTest, PrintsTokensEpochsAndRepeatsPerSourceAndStage) {
  const ToolRun run = Plan("");
  EXPECT_THAT(run, Prints(AllOf(HasSubstr("300 steps, 3,000 samples"),
                                ContainsRegex("a +10,000 +20,000 +5,000 "
                                              "+25,000 +41.67% +2.50"),
                                HasSubstr("one length throughout"))));
  EXPECT_THAT(run.out, HasSubstr("warning: never drawn, as their weight is 0 "
                                 "throughout: 'none'"));
  EXPECT_THAT(run.out, HasSubstr("no whole window of 20 tokens: 'rest/short'"));
  EXPECT_THAT(
      run.out,
      HasSubstr("read more than 4 times (repeats beyond about four epochs are "
                "worth less than new data): 'rest' (9.31 epochs)"));
}

// Tokens that a change of length skips at a root that is no mixture are those
// of no source.
TEST_F(PlanCommandTest, WarnsOfTokensThatTheRootSkips) {
  for (const std::string root :
       {"concat = [{ path = 'b' }, { path = 'c' }]",
        "flat = { b = { path = 'b' }, c = { path = 'c' } }"}) {
    std::ofstream(dir_.path("t.toml"))
        << "[data]\nsteps = 12\nbatch_size = 3\nseq_len = 16\n"
           "max_seq_len = 64\n"
        << root << "\n[[data.seq_lens]]\nstart_step = 4\nseq_len = 8\n";
    EXPECT_THAT(Plan(""), Prints(HasSubstr("changes of sequence length skip")));
    EXPECT_EQ(Plan("--json").exit_code, 0);
  }
}

TEST_F(PlanCommandTest, JsonHasTheDocumentedKeys) {
  const ToolRun run = Plan("--json");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["steps"], 300);
  EXPECT_EQ(json["batch_size"], 10);
  EXPECT_EQ(json["exact"], true);
  EXPECT_EQ(json["stages"][1]["name"], "end");
  EXPECT_EQ(json["stages"][1]["stretches"][0]["seq_len"], 20);
  const auto& a = json["sources"][0];
  EXPECT_EQ(a["path"], "a");
  EXPECT_EQ(a["tokens"], 25000);
  EXPECT_EQ(a["samples"], nlohmann::json({1000, 250}));
  EXPECT_EQ(a["first_repeat"]["step"], 100);
  EXPECT_EQ(a["token_bytes"], 2);
  EXPECT_EQ(json["sources"][2]["path"], "rest/b");
  EXPECT_EQ(json["sources"][2]["left_over_tokens"], 17);
  EXPECT_EQ(json["sources"][4]["starved"], "no_window");
  EXPECT_FALSE(json.contains("series"));
  const auto with = nlohmann::json::parse(Plan("--json --series").out);
  EXPECT_EQ(with["series"]["step"].back(), 300);
  EXPECT_EQ(with["series"]["bands"].size(), 3u);
}

TEST_F(PlanCommandTest, MaxRepeatsSetsWhenToWarn) {
  EXPECT_THAT(Plan("--max-repeats 20").out, Not(HasSubstr("read more than")));
  EXPECT_THAT(Plan("--max-repeats 2.25"),
              Prints(HasSubstr("'a' (2.50 epochs)")));
  for (const char* wrong : {"many", "-1", "nan", "inf"}) {
    EXPECT_THAT(Plan(std::string("--max-repeats=") + wrong),
                FailsWith(2, HasSubstr("--max-repeats must be a number")));
  }
}

// An endless component has no sixteenth: a group of 1024 windows is lost.
TEST_F(PlanCommandTest, WarnsOfTokensThatChangesOfLengthSkip) {
  const auto text = [](const std::string& group) {
    return "[data]\nsteps = 400\nbatch_size = 8\nseq_len = 32\n"
           "max_seq_len = 128\n" +
           group +
           "[data.mixture]\n"
           "n = { weight = 1, mixture = { x = { tokens = 3000, weight = 1 } } "
           "}\n"
           "f = { weight = 1, tokens = 100000 }\n"
           "[[data.stages]]\nstart_step = 200\nseq_len = 64\n";
  };
  std::ofstream(dir_.path("t.toml")) << text("");
  EXPECT_THAT(
      Plan(""),
      Prints(AllOf(HasSubstr("warning: changes of sequence length skip"),
                   HasSubstr("'n' ("), HasSubstr("group_items"))));
  std::ofstream(dir_.path("t.toml")) << text("group_items = 4\n");
  EXPECT_THAT(Plan(""),
              Prints(Not(HasSubstr("changes of sequence length skip"))));
}

TEST_F(PlanCommandTest, WarnsOfWhatALoaderRefuses) {
  const std::string text =
      "[data]\nsteps = 4\nbatch_size = 8\nseq_len = 32\n"
      "[data.mixture]\n"
      "x = { tokens = 3000, weight = 1, tokenizer = 't', vocab_size = 70000 }\n"
      "[runtime]\ntensors = ['loss_weights']\ntoken_type = ";
  std::ofstream(dir_.path("t.toml")) << text << "'u16'\n";
  EXPECT_THAT(Plan(""),
              Prints(AllOf(HasSubstr("warning: a loader refuses this "
                                     "run: "),
                           HasSubstr("token_type"), HasSubstr("70000"))));
  EXPECT_THAT(Plan("--json"), Prints(HasSubstr("a loader refuses this run")));
  std::ofstream(dir_.path("t.toml")) << text << "'u32'\n";
  EXPECT_THAT(Plan(""), Prints(Not(HasSubstr("refuses"))));
}

TEST_F(PlanCommandTest, WritesAPage) {
  EXPECT_EQ(Plan("--html " + dir_.path("p.html")).exit_code, 0);
  const std::string page = ReadFile(dir_.path("p.html"));
  EXPECT_THAT(page, HasSubstr("\"path\":\"rest/b\""));
  EXPECT_THAT(page, ::testing::EndsWith("</html>\n"));
  EXPECT_THAT(Plan("--html /nowhere/at/all.html"),
              FailsWith(1, HasSubstr("/nowhere/at/all.html")));
}

// Names in the folder that begin with `name`.
std::vector<std::string> Beside(const std::string& folder,
                                const std::string& name) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string found = entry.path().filename();
    if (found.starts_with(name)) names.push_back(found);
  }
  return names;
}

TEST_F(PlanCommandTest, APageThatCannotBeWrittenLeavesTheOldOne) {
  const std::string page = dir_.path("p.html");
  std::ofstream(page) << "the old page\n";
  // Files of at most 1 KiB or less: the page is larger.
  const std::string limit = "trap '' XFSZ; ulimit -f 1;";
  EXPECT_THAT(RunTool("plan " + dir_.path("t.toml") + " --html " + page, limit),
              FailsWith(1, AllOf(HasSubstr("cannot write '" + page + "'"),
                                 HasSubstr("File too large"))));
  EXPECT_EQ(ReadFile(page), "the old page\n");
  EXPECT_THAT(Beside(dir_.path(), "p.html"), ::testing::ElementsAre("p.html"));
  // Killed by the signal.
  EXPECT_NE(
      RunTool("plan " + dir_.path("t.toml") + " --html " + page, "ulimit -f 1;")
          .exit_code,
      0);
  EXPECT_EQ(ReadFile(page), "the old page\n");
}

TEST_F(PlanCommandTest, APageKeepsItsModeAndItsLink) {
  const std::string page = dir_.path("p.html");
  std::ofstream(page) << "the old page\n";
  ASSERT_EQ(::chmod(page.c_str(), 0640), 0);
  std::filesystem::create_symlink("p.html", dir_.path("link.html"));
  EXPECT_EQ(Plan("--html " + dir_.path("link.html")).exit_code, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(dir_.path("link.html")));
  EXPECT_THAT(ReadFile(page), ::testing::EndsWith("</html>\n"));
  struct stat facts = {};
  ASSERT_EQ(::stat(page.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0640u);
  // What is no regular file.
  EXPECT_EQ(Plan("--html /dev/null").exit_code, 0);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_THAT(Plan("--html /dev/stderr").err, ::testing::EndsWith("</html>\n"));
}

TEST_F(PlanCommandTest, RefusesWhatCannotBePlanned) {
  EXPECT_THAT(Plan("--series"), FailsWith(2, HasSubstr("--json")));
  EXPECT_THAT(Plan("--steps 0"), FailsWith(2, HasSubstr("steps")));
  EXPECT_THAT(RunTool("plan"), FailsWith(2, HasSubstr("CONFIG")));
  EXPECT_THAT(RunTool("plan /nowhere.toml"),
              FailsWith(1, HasSubstr("/nowhere.toml")));
}

TEST(PlanTableTest, TheCurriculumHasItsFigures) {
  const Curriculum curriculum(Curriculum::Options(RunPoint::ShareOfTokens));
  ASSERT_OK_AND_ASSIGN(const PlannedRun plan, curriculum.Plan());
  std::ostringstream out;
  cli::PrintPlan(plan, out);
  EXPECT_THAT(out.str(), ContainsRegex("math .* 1494.8 B +10.10% +9.97"));
  EXPECT_THAT(out.str(), ContainsRegex("web .* 8036.4 B +54.30% +0.67"));
  EXPECT_THAT(out.str(), HasSubstr("4.21 times cheaper"));
}

}  // namespace
}  // namespace poniente::testing
