// SPDX-License-Identifier: Apache-2.0
#include "config/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/config/small_stores.h"
#include "tests/support/status_matchers.h"

namespace poniente::internal {
namespace {

using poniente::testing::SmallStores;
using poniente::testing::StatusIs;
using ::testing::HasSubstr;

class PlanTest : public SmallStores {
 protected:
  Config Parse(const std::string& text) {
    auto config = Config::Parse(text, "t.toml", dir_.path());
    EXPECT_TRUE(config.ok()) << config.status();
    return *std::move(config);
  }
};

constexpr char kStaged[] = R"([data]
steps = 300
batch_size = 10
seq_len = 20
block_size = 100
[data.mixture]
a = { weight = 0.5, path = "a" }
rest = { weight = 0.5, flat = { b = { path = "b" }, c = { path = "c" } } }
[[data.stages]]
name = "end"
start_step = 200
weights = { a = 0.25, rest = 0.75 }
)";

TEST_F(PlanTest, CountsAreThoseOfARunSampleBySample) {
  const Config config = Parse(kStaged);
  ASSERT_OK_AND_ASSIGN(const PlannedRun plan, MakePlan(config, std::nullopt));
  ASSERT_EQ(plan.stages.size(), 2u);
  EXPECT_EQ(plan.stages[0].samples, 2000u);
  EXPECT_EQ(plan.stages[1].samples, 1000u);
  EXPECT_EQ(plan.stages[1].name, "end");
  std::map<std::string, double> total;
  for (const RunSource& source : plan.sources) {
    total[source.name] = source.total_samples();
  }
  std::map<std::string, double> dealt;
  ASSERT_OK_AND_ASSIGN(const auto loader, config.OpenLoader());
  for (int step = 0; step < 300; ++step) {
    ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
    for (size_t i = 0; i < batch.num_samples(); ++i) {
      const std::string path = loader->sources()[batch.source(i)].path;
      ++dealt[path.substr(path.find('/') + 1)];
    }
  }
  EXPECT_EQ(total["a"], 1250);
  EXPECT_EQ(total["a"], dealt["a"]);
  EXPECT_EQ(total["rest"], 1750);
  EXPECT_TRUE(plan.is_exact);
  EXPECT_EQ(total["b"], dealt["b"]);
  EXPECT_EQ(total["c"], dealt["c"]);
}

// What lies in order is not taken for shuffled.
TEST_F(PlanTest, KnowsTheOrderOfConcatAndTake) {
  const auto total = [&](const std::string& node) {
    auto plan = MakePlan(Parse("[data]\nsteps = 5\nbatch_size = 10\n"
                               "seq_len = 20\n" +
                               node),
                         std::nullopt);
    EXPECT_TRUE(plan.ok()) << plan.status();
    std::vector<double> totals;
    for (const RunSource& source : plan->sources) {
      totals.push_back(source.total_samples());
    }
    return totals;
  };
  EXPECT_THAT(total("shuffle = false\n"
                    "concat = [ { path = 'b' }, { path = 'c' } ]\n"),
              ::testing::ElementsAre(38, 12));
  EXPECT_THAT(total("[data.mixture.k]\nweight = 1\ntake = 20\n"
                    "concat = [ { path = 'b' }, { path = 'c' } ]\n"),
              ::testing::ElementsAre(50, 50, 0));
}

TEST_F(PlanTest, ALongRunIsExpectedInProportion) {
  ASSERT_OK_AND_ASSIGN(const PlannedRun plan,
                       MakePlan(Parse(kStaged), uint64_t{10'000'000}));
  EXPECT_FALSE(plan.is_exact);
  EXPECT_NEAR(plan.sources[2].total_samples() / plan.sources[1].total_samples(), 38.0 / 188,
              1e-9);
}

TEST_F(PlanTest, TheLastBatchIsCountedAsItIsServed) {
  const std::string data = "[data]\nbatch_size = 7\nseq_len = 20\npath = 'a'\n";
  ASSERT_OK_AND_ASSIGN(
      const PlannedRun drop,
      MakePlan(Parse(data + "last_batch = 'drop'\n"), std::nullopt));
  EXPECT_EQ(drop.steps, 71u);
  EXPECT_EQ(drop.sources[0].total_samples(), 497);
}

TEST_F(PlanTest, EpochsAreDrawsOverLength) {
  ASSERT_OK_AND_ASSIGN(const PlannedRun plan,
                       MakePlan(Parse(kStaged), std::nullopt));
  const RunSource& rest = plan.sources[1];
  EXPECT_EQ(rest.name, "rest");
  EXPECT_EQ(rest.length, 38u + 150u);
  EXPECT_DOUBLE_EQ(*rest.epochs, 1750.0 / 188);
  EXPECT_EQ(plan.sources[2].depth, 1u);
  EXPECT_EQ(plan.sources[2].total_samples() + plan.sources[3].total_samples(), 1750);
  EXPECT_NEAR(*plan.sources[2].epochs, 1750.0 / 188, 0.5);
}

TEST_F(PlanTest, StepsCanBeReplacedAndAreNeededWhereARunHasNoEnd) {
  ASSERT_OK_AND_ASSIGN(const PlannedRun plan, MakePlan(Parse(kStaged), 150));
  EXPECT_EQ(plan.stages.size(), 1u);
  EXPECT_EQ(plan.stages[0].end_step, 150u);
  const Config endless = Parse(
      "[data]\nbatch_size = 1\nseq_len = 20\n"
      "mixture = { a = { weight = 1, path = 'a' } }\n");
  EXPECT_THAT(
      MakePlan(endless, std::nullopt),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("--steps")));
  const Config finite =
      Parse("[data]\nbatch_size = 7\nseq_len = 20\npath = 'a'\n");
  ASSERT_OK_AND_ASSIGN(const PlannedRun epoch, MakePlan(finite, std::nullopt));
  EXPECT_EQ(epoch.steps, 72u);
  EXPECT_EQ(epoch.sources.size(), 1u);
  EXPECT_EQ(epoch.sources[0].total_samples(), 500);
}

}  // namespace
}  // namespace poniente::internal
