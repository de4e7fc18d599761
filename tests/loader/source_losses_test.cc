// SPDX-License-Identifier: Apache-2.0
#include "poniente/source_losses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "poniente/loader.h"
#include "poniente/mixture_dataset.h"
#include "tests/support/counting_dataset.h"
#include "tests/support/made_batch.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::MadeBatch;
using testing::StatusIs;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

const std::vector<std::string> kPaths = {"code", "prose/fables",
                                         "prose/fortunes"};

std::vector<std::string> Names(const SourceLosses& losses) {
  std::vector<std::string> names;
  for (const SourceLoss& one : losses.Report()) names.push_back(one.name);
  return names;
}

// The entry of this name; fails if there is not exactly one.
SourceLoss Entry(const SourceLosses& losses, const std::string& name) {
  SourceLoss found;
  int count = 0;
  for (const SourceLoss& one : losses.Report()) {
    if (one.name != name) continue;
    found = one;
    ++count;
  }
  EXPECT_EQ(count, 1) << name;
  return found;
}

void Add(SourceLosses& losses, const std::vector<uint32_t>& sources,
         const std::vector<double>& values) {
  EXPECT_THAT(losses.Add(MadeBatch(sources), values), IsOk());
}

TEST(SourceLossesTest, RollsUpNestedNames) {
  SourceLosses losses(kPaths);
  Add(losses, {1, 0, 2, 1}, {1.0, 8.0, 5.0, 3.0});
  Add(losses, {2, 2, 0, 0}, {5.0, 5.0, 4.0, 3.0});
  EXPECT_THAT(Names(losses),
              ElementsAre("loss/total", "loss/code", "loss/prose",
                          "loss/prose/fables", "loss/prose/fortunes"));
  EXPECT_EQ(Entry(losses, "loss/total").loss, 34.0 / 8);
  EXPECT_EQ(Entry(losses, "loss/total").share, 1);
  EXPECT_EQ(Entry(losses, "loss/code").loss, 5);
  EXPECT_EQ(Entry(losses, "loss/code").share, 0.375);
  EXPECT_EQ(Entry(losses, "loss/prose").loss, 19.0 / 5);
  EXPECT_EQ(Entry(losses, "loss/prose").samples, 5);
  EXPECT_EQ(Entry(losses, "loss/prose/fables").loss, 2);
  EXPECT_EQ(Entry(losses, "loss/prose/fables").share, 0.25);
  EXPECT_EQ(Entry(losses, "loss/prose/fortunes").loss, 5);
}

TEST(SourceLossesTest, LeavesOutWhatHadNoSamples) {
  SourceLosses losses(kPaths);
  EXPECT_THAT(losses.Report(), IsEmpty());
  Add(losses, {2}, {1.5});
  EXPECT_THAT(Names(losses),
              ElementsAre("loss/total", "loss/prose", "loss/prose/fortunes"));
  losses.Reset();
  EXPECT_THAT(losses.Report(), IsEmpty());
  EXPECT_THAT(losses.sums(), Each(0.0));
}

TEST(SourceLossesTest, SumsOfRanksAddUp) {
  SourceLosses whole(kPaths), first(kPaths), second(kPaths), idle(kPaths);
  Add(whole, {1, 0, 2, 0, 1}, {1, 2, 3, 4, 5});
  Add(first, {1, 0}, {1, 2});
  Add(second, {2, 0, 1}, {3, 4, 5});
  Add(idle, {}, {});
  ASSERT_EQ(first.sums().size(), 9u);
  for (size_t i = 0; i < 9; ++i) {
    first.sums()[i] += second.sums()[i] + idle.sums()[i];
  }
  EXPECT_THAT(first.sums(), ElementsAre(6, 2, 2, 6, 2, 2, 3, 1, 1));
  ASSERT_EQ(first.Report().size(), whole.Report().size());
  for (size_t i = 0; i < whole.Report().size(); ++i) {
    EXPECT_EQ(first.Report()[i].name, whole.Report()[i].name);
    EXPECT_EQ(first.Report()[i].loss, whole.Report()[i].loss);
    EXPECT_EQ(first.Report()[i].share, whole.Report()[i].share);
  }
}

TEST(SourceLossesTest, WeightsMakeMeansPerToken) {
  SourceLosses losses(kPaths);
  const std::vector<float> mean = {2, 4, 3};
  const std::vector<float> tokens = {6, 2, 8};
  EXPECT_THAT(losses.Add(MadeBatch({0, 0, 1}), mean, tokens), IsOk());
  EXPECT_EQ(Entry(losses, "loss/code").loss, 20.0 / 8);
  EXPECT_EQ(Entry(losses, "loss/code").weight, 8);
  EXPECT_EQ(Entry(losses, "loss/code").share, 2.0 / 3);
  EXPECT_EQ(Entry(losses, "loss/total").loss, 44.0 / 16);
}

// The mean over no token is often NaN.
TEST(SourceLossesTest, ASampleOfWeightZeroHasNoLoss) {
  SourceLosses losses(kPaths);
  EXPECT_THAT(
      losses.Add(MadeBatch({0, 0, 1}), std::vector<double>{kNan, 4, kNan},
                 std::vector<double>{0, 2, 0}),
      IsOk());
  EXPECT_THAT(Names(losses), ElementsAre("loss/total", "loss/code"));
  EXPECT_EQ(Entry(losses, "loss/code").loss, 4);
  EXPECT_EQ(Entry(losses, "loss/code").samples, 2);
}

TEST(SourceLossesTest, ALossThatIsNotFiniteShowsWhereItBelongs) {
  SourceLosses losses(kPaths);
  Add(losses, {0, 1, 2}, {1, kNan, 2});
  EXPECT_TRUE(std::isnan(Entry(losses, "loss/total").loss));
  EXPECT_TRUE(std::isnan(Entry(losses, "loss/prose").loss));
  EXPECT_TRUE(std::isnan(Entry(losses, "loss/prose/fables").loss));
  EXPECT_EQ(Entry(losses, "loss/prose/fortunes").loss, 2);
  EXPECT_EQ(Entry(losses, "loss/code").loss, 1);
  losses.Reset();
  Add(losses, {0, 1}, {1, -kInfinity});
  EXPECT_EQ(Entry(losses, "loss/prose/fables").loss, -kInfinity);
  EXPECT_EQ(Entry(losses, "loss/code").loss, 1);
}

TEST(SourceLossesTest, RefusesWhatDoesNotFitTheBatchAndAddsNothing) {
  SourceLosses losses(kPaths);
  const auto refused = [](const absl::Status& status, const char* what,
                          const char* values) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                                 AllOf(HasSubstr("step 7: "), HasSubstr(what),
                                       HasSubstr(values))));
  };
  const Batch batch = MadeBatch({0, 1}, 8, 7);
  const std::vector<double> one = {1}, two = {1, 2}, three = {1, 2, 3};
  refused(losses.Add(batch, one), "1 losses", "2 samples");
  refused(losses.Add(batch, three), "3 losses", "2 samples");
  refused(losses.Add(batch, two, three), "3 weights", "2 samples");
  refused(losses.Add(batch, two, std::vector<double>{}), "0 weights", "");
  for (const double weight : {-1.0, kNan, kInfinity}) {
    refused(losses.Add(batch, two, std::vector<double>{1, weight}),
            "weight of sample 1", "at least 0");
  }
  refused(losses.Add(MadeBatch({0, 3}, 8, 7), two), "sample 1 is of source 3",
          "3 sources");
  EXPECT_THAT(losses.sums(), Each(0.0));
}

// The views of a component, whose paths are equal; names with a '/' in them.
TEST(SourceLossesTest, AnEntryHasAllSourcesAtOrBelowItsName) {
  SourceLosses losses({"web", "web", "web/extra", "webs"});
  Add(losses, {0, 1, 2, 3}, {1, 2, 6, 100});
  EXPECT_THAT(Names(losses), ElementsAre("loss/total", "loss/web",
                                         "loss/web/extra", "loss/webs"));
  EXPECT_EQ(Entry(losses, "loss/web").loss, 3);
  EXPECT_EQ(Entry(losses, "loss/web").samples, 3);
}

TEST(SourceLossesTest, ASourceCalledTotalIsNotTheTotal) {
  SourceLosses losses({"total", "rest"});
  Add(losses, {0, 1}, {1, 3});
  EXPECT_EQ(Entry(losses, "loss/total").loss, 2);
  EXPECT_EQ(Entry(losses, "loss/total/").loss, 1);
}

TEST(SourceLossesTest, PathsOfDirectoriesAreNamesToo) {
  SourceLosses losses({"/data/stores/web", ""});
  Add(losses, {0, 1}, {1, 3});
  EXPECT_THAT(Names(losses),
              ElementsAre("loss/total", "loss//data", "loss//data/stores",
                          "loss//data/stores/web", "loss/"));
}

TEST(SourceLossesTest, TakesTheNamesOfALoader) {
  ScheduleOptions schedule;
  schedule.batch_size = 4;
  schedule.seq_len = 16;
  ASSERT_OK_AND_ASSIGN(const auto mixture,
                       MixtureDataset<TokenWindow>::Create(
                           {{"a", testing::CountingWindows(9, 16), 0.5},
                            {"b", testing::CountingWindows(9, 16), 0.5}}));
  ASSERT_OK_AND_ASSIGN(const auto loader,
                       Loader::Create(mixture, *Schedule::Create(schedule)));
  SourceLosses losses(*loader);
  std::map<uint32_t, double> samples;
  for (int step = 0; step < 5; ++step) {
    ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
    std::vector<float> values;
    for (size_t i = 0; i < batch.num_samples(); ++i) {
      values.push_back(batch.source(i) == 0 ? 2.0f : 3.0f);
      samples[batch.source(i)] += 1;
    }
    ASSERT_THAT(losses.Add(batch, values), IsOk());
  }
  EXPECT_EQ(Entry(losses, "loss/a").loss, 2);
  EXPECT_EQ(Entry(losses, "loss/b").loss, 3);
  EXPECT_EQ(Entry(losses, "loss/a").samples, samples[0]);
  EXPECT_EQ(Entry(losses, "loss/total").samples, 20);
}

}  // namespace
}  // namespace poniente
