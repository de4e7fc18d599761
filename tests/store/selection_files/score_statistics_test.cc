// SPDX-License-Identifier: Apache-2.0
// Thresholds that are computed from all scores.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "poniente/score_file.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

using ::testing::DoubleNear;
using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using testing::StatusIs;

constexpr auto kRefusedStatistic = absl::StatusCode::kInvalidArgument;

Scores ScoresOf(std::vector<double> scores) {
  return Scores{std::move(scores)};
}

TEST(ScoreStatisticsTest, AQuantileIsTheScoreAtItsPlace) {
  const Scores ten = ScoresOf({9, 1, 8, 2, 7, 3, 6, 4, 5, 0});
  EXPECT_THAT(ten.Quantile(0), IsOkAndHolds(0));
  EXPECT_THAT(ten.Quantile(0.8), IsOkAndHolds(8));
  EXPECT_THAT(ten.Quantile(0.74), IsOkAndHolds(7));
  EXPECT_THAT(ten.Quantile(0.75), IsOkAndHolds(8)) << "a half goes up";
  EXPECT_THAT(ten.Quantile(1), IsOkAndHolds(9)) << "the last";
  // 0.29 * 100 is below 29 as a double.
  std::vector<double> hundred(100);
  for (size_t i = 0; i < 100; ++i) hundred[i] = static_cast<double>(i);
  EXPECT_THAT(ScoresOf(hundred).Quantile(0.29), IsOkAndHolds(29));
  // Scores of 4 bytes, infinite ones, and equal ones.
  const float inf = HUGE_VALF;
  EXPECT_THAT(Scores{std::vector<float>({0.7f, -inf, 0.7f, inf})}.Quantile(0.5),
              IsOkAndHolds(double{0.7f}));
  EXPECT_THAT(Scores{std::vector<float>({-inf, 1})}.Quantile(0),
              IsOkAndHolds(-inf));
  EXPECT_THAT(Scores().Quantile(0.5),
              StatusIs(kRefusedStatistic, HasSubstr("there are no scores")));
}

TEST(ScoreStatisticsTest, AQuantileChoosesTheRestOfTheScores) {
  std::mt19937_64 random(testing::TestSeed(8));
  for (int round = 0; round < 500; ++round) {
    std::vector<double> scores(1 + random() % 300);
    const uint64_t values = 1 + random() % 400;
    for (double& score : scores) {
      score = static_cast<double>(random() % values);
    }
    const double share = static_cast<double>(random() % 1001) / 1000;
    std::vector<double> sorted = scores;
    std::sort(sorted.begin(), sorted.end());
    const auto n = static_cast<double>(scores.size());
    const auto place = std::min(
        scores.size() - 1, static_cast<size_t>(std::floor(share * n + 0.5)));
    ASSERT_OK_AND_ASSIGN(const double lowest, ScoresOf(scores).Quantile(share));
    ASSERT_EQ(lowest, sorted[place]);
    ASSERT_OK_AND_ASSIGN(const Selection chosen,
                         ScoresOf(scores).AtLeast(lowest));
    ASSERT_GE(chosen.count(), scores.size() - place);
  }
}

// Computed by another program, in the same order of operations.
TEST(ScoreStatisticsTest, MeanAndDeviationHaveTheirLastBit) {
  std::vector<double> scores;
  for (uint64_t i = 1; i <= 1000; ++i) {
    scores.push_back(static_cast<double>(i * 2654435761 % 1000003) / 7);
  }
  EXPECT_THAT(ScoresOf(scores).MeanPlusSigmas(0),
              IsOkAndHolds(0x1.191d8653ace8ep+16));
  EXPECT_THAT(ScoresOf(scores).MeanPlusSigmas(1.5),
              IsOkAndHolds(0x1.05541c725a6f4p+17));
  EXPECT_THAT(ScoresOf(scores).Quantile(0.37),
              IsOkAndHolds(0x1.a4f0db6db6db7p+15));
}

TEST(ScoreStatisticsTest, MeanAndDeviationAreThoseOfTheFiniteScores) {
  // 2, 4, 4, 4, 5, 5, 7, 9: mean 5, deviation 2.
  const double inf = HUGE_VAL;
  const Scores scores = ScoresOf({2, 4, -inf, 4, 4, 5, inf, 5, 7, 9});
  EXPECT_THAT(scores.MeanPlusSigmas(0), IsOkAndHolds(5));
  EXPECT_THAT(scores.MeanPlusSigmas(1.5), IsOkAndHolds(8));
  EXPECT_THAT(scores.MeanPlusSigmas(-1), IsOkAndHolds(3));
  EXPECT_THAT(ScoresOf({3}).MeanPlusSigmas(7), IsOkAndHolds(3));
  EXPECT_THAT(
      ScoresOf({-inf, inf}).MeanPlusSigmas(1),
      StatusIs(kRefusedStatistic, HasSubstr("none of the 2 scores is finite")));
  EXPECT_THAT(Scores().MeanPlusSigmas(1),
              StatusIs(kRefusedStatistic, HasSubstr("none of the 0 scores")));
  EXPECT_THAT(ScoresOf({1e308, -1e308}).MeanPlusSigmas(1),
              StatusIs(kRefusedStatistic, HasSubstr("is not finite: the scores "
                                                    "are too large")));
}

TEST(ScoreStatisticsTest, SumsKeepWhatRoundingWouldLose) {
  // Adding 1e-10 to 1e6 ten million times in a row would lose it.
  std::vector<double> scores(2'000'001, 1e-10);
  scores[0] = 1e6;
  const double mean = (1e6 + 2e6 * 1e-10) / 2'000'001;
  EXPECT_THAT(ScoresOf(scores).MeanPlusSigmas(0),
              IsOkAndHolds(DoubleNear(mean, 1e-16)));
}

}  // namespace
}  // namespace poniente
