// SPDX-License-Identifier: Apache-2.0
#include "index/mixture/weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tests/support/status_matchers.h"
#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

using ::poniente::testing::IsOkAndHolds;
using ::poniente::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint64_t kWeightsTotal = uint64_t{1} << 62;

absl::StatusOr<std::vector<uint64_t>> QuantaOf(
    const std::vector<double>& weights) {
  return QuantaFromWeights(weights);
}

// Literals from the definition of order version 1.
TEST(WeightsTest, QuantaOfOrderVersion1) {
  EXPECT_THAT(
      QuantaOf({5, 3, 1, 1}),
      IsOkAndHolds(ElementsAre(2305843009213693952, 1383505805528216371,
                               461168601842738791, 461168601842738790)));
  EXPECT_THAT(QuantaOf({0.7, 0.2, 0.1}),
              IsOkAndHolds(ElementsAre(3228180212899171417, 922337203685477658,
                                       461168601842738829)));
  EXPECT_THAT(QuantaOf({1, 1, 1}),
              IsOkAndHolds(ElementsAre(1537228672809129302, 1537228672809129301,
                                       1537228672809129301)));
  EXPECT_THAT(QuantaOf({1e300, 1, 1}),
              IsOkAndHolds(ElementsAre(4611686018427387902, 1, 1)));
  EXPECT_THAT(QuantaOf({0.2, 0.3, 0.5}),
              IsOkAndHolds(ElementsAre(922337203685477632, 1383505805528216320,
                                       2305843009213693952)));
  EXPECT_THAT(
      QuantaOf({0.75, 0, 0.25}),
      IsOkAndHolds(ElementsAre(3458764513820540928, 0, 1152921504606846976)));
}

TEST(WeightsTest, PowersAndScoresOfOrderVersion1) {
  const std::vector<double> weights = {1000, 100, 10};
  EXPECT_THAT(QuantaFromPowers(weights, 2),
              IsOkAndHolds(ElementsAre(3256316624406979687, 1029737731579710113,
                                       325631662440698104)));
  const std::vector<double> scores = {1, 2, 3};
  EXPECT_THAT(QuantaFromScores(scores, 0.7),
              IsOkAndHolds(ElementsAre(204197474937171663, 852061722615509294,
                                       3555426820874706947)));
  const std::vector<uint64_t> from = *QuantaOf({5, 3, 1, 1});
  const std::vector<uint64_t> to = *QuantaOf({1, 1, 1, 1});
  EXPECT_THAT(QuantaOnRamp(from, to, 0, 3),
              ElementsAre(2113689425112552789, 1345075088707988139,
                          576460752303423488, 576460752303423488));
}

// Shares of 2^62, to four digits.
std::vector<double> Rounded(
    const absl::StatusOr<std::vector<uint64_t>>& quanta) {
  std::vector<double> shares;
  for (const uint64_t q : *quanta) {
    shares.push_back(std::round(static_cast<double>(q) / 0x1p62 * 1e4) / 1e4);
  }
  return shares;
}

TEST(WeightsTest, ScoresBecomeSharesBySoftmax) {
  const std::vector<double> scores = {2, 3, 1};
  EXPECT_THAT(Rounded(QuantaFromScores(scores, 0.5)),
              ElementsAre(.1173, .8668, .0159));
  EXPECT_THAT(Rounded(QuantaFromScores(scores, 1)),
              ElementsAre(.2447, .6652, .0900));
  EXPECT_THAT(Rounded(QuantaFromScores(scores, 2)),
              ElementsAre(.3072, .5065, .1863));
  EXPECT_THAT(Rounded(QuantaFromScores(scores, 10)),
              ElementsAre(.3322, .3672, .3006));
}

TEST(WeightsTest, TemperatureGoesFromGreedyToUniform) {
  const std::vector<double> weights = {9, 0, 1};
  EXPECT_THAT(Rounded(QuantaFromPowers(weights, 2)), ElementsAre(.75, 0, .25));
  EXPECT_THAT(Rounded(QuantaFromPowers(weights, 1e9)), ElementsAre(.5, 0, .5));
  EXPECT_THAT(Rounded(QuantaFromPowers(
                  weights, std::numeric_limits<double>::infinity())),
              ElementsAre(.5, 0, .5));
  EXPECT_EQ(*QuantaFromPowers(weights, 1), *QuantaOf({9, 0, 1}));
  // All but everything; what has a weight is never shut out.
  EXPECT_THAT(QuantaFromPowers(weights, kMinTemperature),
              IsOkAndHolds(ElementsAre(kWeightsTotal - 1, 0, 1)));
}

TEST(WeightsTest, ScoresTakeAnyScaleAndMinusInfinityIsNever) {
  const double never = -std::numeric_limits<double>::infinity();
  const std::vector<double> extreme = {1e308, -1e308, never};
  EXPECT_THAT(QuantaFromScores(extreme, 1e-2),
              IsOkAndHolds(ElementsAre(kWeightsTotal - 1, 1, 0)));
  const std::vector<double> shifted = {1002, 1003, 1001};
  const std::vector<double> plain = {2, 3, 1};
  EXPECT_EQ(*QuantaFromScores(shifted, 1), *QuantaFromScores(plain, 1));
}

TEST(WeightsTest, PowersAndScoresNameWhatTheyRefuse) {
  const std::vector<std::string> names = {"books", "web"};
  const std::vector<double> weights = {1, 2};
  for (const double t : {0.0, -1.0, 0.0009, std::nan("")}) {
    EXPECT_THAT(QuantaFromPowers(weights, t, names),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("temperature must be at least")));
    EXPECT_THAT(QuantaFromScores(weights, t, names),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("temperature must be at least")));
  }
  EXPECT_THAT(QuantaFromPowers(std::vector<double>{1, -2}, 2, names),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("weight of 'web' must be finite")));
  EXPECT_THAT(QuantaFromScores(std::vector<double>{std::nan(""), 1}, 2, names),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("score of 'books' must be finite")));
  const double never = -std::numeric_limits<double>::infinity();
  EXPECT_THAT(QuantaFromScores(std::vector<double>{never, never}, 2, names),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("at least one of the 2 scores")));
}

TEST(WeightsTest, RampsMoveStraightAndSumExactly) {
  const std::vector<uint64_t> from = *QuantaOf({1, 0, 0.5, 1e-9});
  const std::vector<uint64_t> to = *QuantaOf({0, 1, 0.5, 0});
  for (uint64_t s = 0; s < 7; ++s) {
    const std::vector<uint64_t> quanta = QuantaOnRamp(from, to, s, 7);
    EXPECT_EQ(std::accumulate(quanta.begin(), quanta.end(), uint64_t{0}),
              kWeightsTotal);
    for (size_t i = 0; i < quanta.size(); ++i) {
      const double line = (static_cast<double>(from[i]) * (13 - 2.0 * s) +
                           static_cast<double>(to[i]) * (2.0 * s + 1)) /
                          14;
      EXPECT_NEAR(static_cast<double>(quanta[i]), line, 1e4);
      EXPECT_EQ(quanta[i] > 0, from[i] > 0 || to[i] > 0);
    }
  }
}

TEST(WeightsTest, OnlyRatiosMatterDownToTheSmallestDoubles) {
  const double tiny = std::numeric_limits<double>::denorm_min();
  const auto quanta = QuantaOf({5, 3, 1, 1});
  EXPECT_EQ(*QuantaOf({5 * tiny, 3 * tiny, tiny, tiny}), *quanta);
  EXPECT_EQ(*QuantaOf({5 * 0x1p1000, 3 * 0x1p1000, 0x1p1000, 0x1p1000}),
            *quanta);
}

// Literals from exact fractions: no bit is lost down to 2^-62 of the largest.
TEST(WeightsTest, KeepsTheLastBitsOfSmallWeights) {
  EXPECT_THAT(QuantaOf({1, 0x1.0000000000001p-10, 0x1.0000000000003p-11}),
              IsOkAndHolds(ElementsAre(4604940500116670123, 4497012207145187,
                                       2248506103572594)));
}

TEST(WeightsTest, RandomWeightsSumExactlyAndKeepZeros) {
  std::mt19937_64 random(testing::TestSeed(3));
  for (int round = 0; round < 300; ++round) {
    std::vector<double> weights(1 + random() % 200);
    for (double& weight : weights) {
      weight = random() % 4 == 0
                   ? 0
                   : std::ldexp(1.0 + random() % 1000,
                                static_cast<int>(random() % 2000) - 1000);
    }
    weights[0] = 1;
    const auto quanta = QuantaOf(weights);
    ASSERT_TRUE(quanta.ok());
    ASSERT_EQ(std::accumulate(quanta->begin(), quanta->end(), uint64_t{0}),
              kWeightsTotal);
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (size_t i = 0; i < weights.size(); ++i) {
      ASSERT_EQ((*quanta)[i] > 0, weights[i] > 0);
      ASSERT_NEAR(static_cast<double>((*quanta)[i]), weights[i] / sum * 0x1p62,
                  0x1p12);
    }
  }
}

TEST(WeightsTest, TheLargestPaysWhatTheSmallestAreGiven) {
  EXPECT_THAT(Apportion(std::vector<Share>{
                  {1, true}, {0, true}, {1, true}, {0, false}, {0, true}}),
              ElementsAre(kWeightsTotal / 2 - 2, 1, kWeightsTotal / 2, 0, 1));
}

TEST(WeightsTest, ErrorsNameTheComponentAndTheValue) {
  const std::vector<std::string> names = {"books", "code"};
  const auto quanta = [&](double books, double code) {
    return QuantaFromWeights(std::vector<double>{books, code}, names);
  };
  EXPECT_THAT(quanta(1, -0.2),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "weight of 'code' must be finite and at least 0, got "
                       "-0.2"));
  EXPECT_THAT(quanta(std::nan(""), 1),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'books' must be finite")));
  EXPECT_THAT(quanta(1, HUGE_VAL),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'code' must be finite and at least 0, got "
                                 "inf")));
  EXPECT_THAT(quanta(0, 0), StatusIs(absl::StatusCode::kInvalidArgument,
                                     HasSubstr("above 0")));
  EXPECT_THAT(QuantaOf({}), StatusIs(absl::StatusCode::kInvalidArgument,
                                     HasSubstr("above 0")));
  EXPECT_THAT(QuantaOf({-1}), StatusIs(absl::StatusCode::kInvalidArgument,
                                       HasSubstr("weight of component 0")));
}

TEST(WeightsTest, MinusZeroIsZero) {
  EXPECT_THAT(QuantaOf({-0.0, 1}), IsOkAndHolds(ElementsAre(0, kWeightsTotal)));
}

}  // namespace
}  // namespace poniente::internal
