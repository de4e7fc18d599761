// SPDX-License-Identifier: Apache-2.0
// What a run says of the changes of its journal: in which steps they hold, and
// what they do to stages below the root; and what it warns of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "poniente/config.h"
#include "poniente/journal.h"
#include "poniente/loader.h"
#include "tests/config/small_stores.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::StatusIs;
using ChangeKind = StepChange::Kind;

class SteeredChangesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::WriteDocuments(dir_.path("a"), 0, 10000);
    testing::WriteDocuments(dir_.path("b"), 1, 3000);
    testing::WriteDocuments(dir_.path("c"), 2, 3000);
  }

  std::string Write(const std::string& text) const {
    std::ofstream(dir_.path("run.toml")) << text;
    return dir_.path("run.toml");
  }
  Config Open(const std::string& text) const {
    auto config = Config::Load(Write(text));
    EXPECT_THAT(config, IsOk());
    return *std::move(config);
  }
  // Its warnings go to warnings_.
  std::unique_ptr<Loader> OpenLoader(const Config& config, Ranks ranks = {}) {
    LoaderOptions options = config.loader_options();
    options.rank = ranks.rank;
    options.ranks = ranks.ranks;
    options.log_sink = [](std::string_view) {};
    options.warning_sink = [this](std::string_view line) {
      warnings_.emplace_back(line);
    };
    auto loader = config.OpenLoader(options);
    EXPECT_THAT(loader, IsOk());
    return *std::move(loader);
  }

  testing::TempDir dir_;
  std::vector<std::string> warnings_;
};

constexpr char kRun[] = R"([data]
seed = 3
steps = 1500
batch_size = 8
seq_len = 16
block_size = 64
journal = "run.journal"
[data.mixture]
a = { path = "a", weight = 9 }
[data.mixture.m]
weight = 1
block_size = 32
mixture = { b = { path = "b", weight = 5 }, c = { path = "c", weight = 5 } }
)";

// Reads up to a step; returns the last step with a sample of this source.
std::optional<uint64_t> ReadUntil(Loader& loader, uint64_t step,
                                  const std::string& path) {
  std::optional<uint64_t> last;
  while (loader.next_step() < step) {
    const absl::StatusOr<Batch> batch = loader.NextBlocking();
    EXPECT_THAT(batch, IsOk());
    if (!batch.ok()) return last;
    for (size_t i = 0; i < batch->num_samples(); ++i) {
      if (loader.sources()[batch->source(i)].path == path) {
        last = batch->plan().step;
      }
    }
  }
  return last;
}

std::vector<uint64_t> StepsOf(const Schedule& schedule, ChangeKind kind,
                              const std::string& mixture) {
  std::vector<uint64_t> steps;
  for (const PlannedChange& one : schedule.changes()) {
    if (one.change.kind == kind && one.change.mixture == mixture) {
      steps.push_back(one.step);
    }
  }
  return steps;
}

// Their samples are counted by the mixture itself, of which more or fewer are
// drawn.
TEST_F(SteeredChangesTest, StagesBelowTheRootComeWithTheirMixturesSamples) {
  for (const double weight : {81.0, 0.2}) {
    std::remove(dir_.path("run.journal").c_str());
    const Config config = Open(absl::StrCat(
        kRun,
        "stages = [{ start_step = 1000, name = 'no b', weights = { b = 0 } "
        "}]\n"));
    EXPECT_THAT(StepsOf(config.schedule(), ChangeKind::kStage, "m"),
                ElementsAre(1000));
    const auto loader = OpenLoader(config);
    ReadUntil(*loader, 100, "m/b");
    ASSERT_THAT(loader->Steer(RunChange::Weights({{"m", weight}})), IsOk());
    const Schedule schedule = loader->schedule();
    const auto begins = StepsOf(schedule, ChangeKind::kStage, "m");
    const std::optional<uint64_t> last = ReadUntil(*loader, 1500, "m/b");
    ASSERT_TRUE(last.has_value());
    // Within a block of the root, 8 steps, samples are shuffled.
    if (begins.empty()) {
      EXPECT_GE(*last, 1500u - 64);  // the run ends before
    } else {
      ASSERT_EQ(begins.size(), 1u);
      EXPECT_NEAR(static_cast<double>(*last), static_cast<double>(begins[0]),
                  weight > 1 ? 8 : 64);
      EXPECT_TRUE(schedule.At(begins[0]).is_boundary);
    }
    EXPECT_FALSE(schedule.At(1000).is_boundary);
    EXPECT_EQ(Open(absl::StrCat(kRun,
                                "stages = [{ start_step = 1000, name = 'no b', "
                                "weights = { b = 0 } }]\n"))
                  .schedule()
                  .changes(),
              schedule.changes());
  }
}

TEST_F(SteeredChangesTest, EveryChangeIsOneOfTheStepFromWhichItHolds) {
  const Config config = Open(kRun);
  const auto loader = OpenLoader(config);
  const auto below = [](RunChange change) {
    change.path = "m";
    return change;
  };
  const RunChange changes[] = {
      RunChange::DropDocuments("a", {{0, 10}}),
      below(RunChange::Weights({{"b", 7}})),
      RunChange::DropDocuments("m/b", {{0, 10}}),
      RunChange::Weights({{"a", 4}}),
      RunChange::MaskDocuments("a", {{50, 60}}),
      RunChange::Extend(1600),
      RunChange::Add("more", "{ path = \"c\", weight = 1 }"),
      below(RunChange::Temperature(2)),
      below(RunChange::Retire({"c"})),
      RunChange::Retire({"more"}),
  };
  uint64_t step = 100;
  for (const RunChange& change : changes) {
    ReadUntil(*loader, step, "");
    const absl::StatusOr<uint64_t> holds = loader->Steer(change);
    ASSERT_THAT(holds, IsOk());
    step = *holds + 30;
    std::vector<std::string> said;
    for (const StepChange& one : loader->schedule().At(*holds).changes) {
      if (one.kind == ChangeKind::kDecision) said.push_back(one.stage);
    }
    EXPECT_THAT(said, ElementsAre(HasSubstr(absl::StrCat(
                          "change ", loader->journal().size(), " at sample "))))
        << *holds;
  }
  EXPECT_EQ(Open(kRun).schedule().changes(), loader->schedule().changes());
}

TEST_F(SteeredChangesTest, ARampThatAChangeEndsHasNoEnd) {
  const std::string ramp =
      "stages = [{ start_step = 400, weights = { b = 1 }, ramp_steps = 200 }, "
      "{ start_step = 900, weights = { b = 3 }, ramp_steps = 200 }]\n";
  const Config config = Open(absl::StrCat(kRun, ramp));
  const auto ends = StepsOf(config.schedule(), ChangeKind::kRampEnd, "m");
  ASSERT_EQ(ends.size(), 2u);
  const auto loader = OpenLoader(config);
  ReadUntil(*loader, 420, "");
  RunChange change = RunChange::Weights({{"b", 7}});
  change.path = "m";
  ASSERT_THAT(loader->Steer(change), IsOk());
  EXPECT_THAT(StepsOf(loader->schedule(), ChangeKind::kRampEnd, "m"),
              ElementsAre(ends[1]));
  // One that drops something ends none.
  ReadUntil(*loader, 1000, "");
  ASSERT_THAT(loader->Steer(RunChange::DropItems("m/b", {{0, 3}})), IsOk());
  EXPECT_THAT(StepsOf(loader->schedule(), ChangeKind::kRampEnd, "m"),
              ElementsAre(ends[1]));
}

TEST_F(SteeredChangesTest, AJournalInNoFolderIsRefusedBeforeTheRun) {
  std::string text = kRun;
  text.replace(text.find("run.journal"), 11, "none/run.journal");
  EXPECT_THAT(
      Config::Load(Write(text)),
      StatusIs(absl::StatusCode::kNotFound,
               HasSubstr("run.toml:7:11: data.journal: the journal would be")));
}

TEST_F(SteeredChangesTest, ALoaderThatKeepsNoJournalWarnsOnce) {
  std::string text = kRun;
  text.erase(text.find("journal ="),
             text.find("[data.mixture]") - text.find("journal ="));
  const auto loader = OpenLoader(Open(text));
  ReadUntil(*loader, 10, "");
  EXPECT_THAT(
      loader->Steer(RunChange::Weights({{"none", 4}})),
      testing::StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("none")));
  EXPECT_THAT(warnings_, IsEmpty());
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(loader->Steer(RunChange::Weights({{"a", 4.0 + i}})), IsOk());
    EXPECT_THAT(warnings_, ElementsAre(HasSubstr("keeps no journal")));
  }
}

// The run keeps a journal, but this rank does not write it.
TEST_F(SteeredChangesTest, ARankThatDecidesByItselfWarns) {
  const Config config = Open(kRun);
  const auto loader = OpenLoader(config, {.rank = 1, .ranks = 2});
  ASSERT_THAT(loader->Steer(RunChange::Weights({{"a", 4}})), IsOk());
  EXPECT_THAT(
      warnings_,
      ElementsAre(HasSubstr("rank 1 of 2 has decided change 1 by itself")));
  warnings_.clear();
  const auto first = OpenLoader(config, {.rank = 0, .ranks = 2});
  const auto second = OpenLoader(config, {.rank = 1, .ranks = 2});
  ASSERT_OK_AND_ASSIGN(const std::string line,
                       first->Propose(RunChange::Weights({{"a", 4}})));
  ASSERT_THAT(first->Steer(line), IsOk());
  ASSERT_THAT(second->Steer(line), IsOk());
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(SteeredChangesTest, DrawingAnEvaluationIsWarnedOf) {
  const std::string text =
      absl::StrCat(kRun,
                   "[data.mixture.exam]\nweight = 0\npath = \"c\"\n"
                   "[data.eval.exam]\npath = \"c\"\n");
  std::string apart = text;
  apart.replace(apart.find(", c = { path = \"c\", weight = 5 }"), 32, "");
  const auto loader = OpenLoader(Open(apart));
  ReadUntil(*loader, 10, "");
  ASSERT_THAT(loader->Steer(RunChange::Weights({{"a", 4}})), IsOk());
  EXPECT_THAT(warnings_, IsEmpty());
  ASSERT_THAT(loader->Steer(RunChange::Weights({{"exam", 2}})), IsOk());
  EXPECT_THAT(warnings_,
              ElementsAre(HasSubstr("training source 'exam' reads, too")));
  ASSERT_THAT(loader->Steer(RunChange::Weights({{"exam", 3}})), IsOk());
  EXPECT_EQ(warnings_.size(), 1u);
}

TEST_F(SteeredChangesTest, ADropOfWhatIsNotReadIsWarnedOf) {
  std::string text = kRun;
  const std::string source = "a = { path = \"a\", weight = 9 }";
  text.replace(text.find(source), source.size(),
               "a = { path = \"a\", weight = 9, hold_out = { documents = 0.5 "
               "} }");
  text += "[data.eval.held]\nheld_out = [\"a\"]\n";
  const Config config = Open(text);
  const auto loader = OpenLoader(config);
  ReadUntil(*loader, 10, "");
  uint64_t held = 0;
  while (config.sources()[0].documents->Contains(held)) ++held;
  uint64_t read = 0;
  while (!config.sources()[0].documents->Contains(read)) ++read;
  ASSERT_THAT(loader->Steer(RunChange::DropDocuments("a", {{read, read + 1}})),
              IsOk());
  EXPECT_THAT(warnings_, IsEmpty());
  ASSERT_THAT(loader->Steer(RunChange::DropDocuments("a", {{held, held + 1}})),
              IsOk());
  EXPECT_THAT(warnings_,
              ElementsAre(HasSubstr("of which the run reads nothing")));
}

}  // namespace
}  // namespace poniente
