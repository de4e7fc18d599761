// SPDX-License-Identifier: Apache-2.0
// Orders by score against a stable sort, and their buckets against the era
// shuffle written down a second time.

#include "poniente/score_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "index/maps/order_map.h"
#include "tests/index/map_laws.h"
#include "tests/support/slow_permutation.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;

using testing::kInvalid;

std::vector<uint64_t> AllScoredItems(const ScoreOrder& order) {
  std::vector<uint64_t> items(order.size());
  std::iota(items.begin(), items.end(), 0u);
  order.ItemsAt(items, items);
  return items;
}

ScoreOrder OrderOf(const std::vector<float>& scores,
                   ScoreDirection direction = ScoreDirection::kAscending) {
  return *ScoreOrder::FromScores(std::span(scores), direction);
}

TEST(ScoreOrderTest, IsTheStableSortInBothDirections) {
  std::mt19937_64 random(testing::TestSeed(61));
  for (const uint64_t n : {0u, 1u, 2u, 3u, 10u, 1000u, 5000u}) {
    for (const uint64_t different : {1u, 5u, 100000u}) {
      std::vector<float> scores(n);
      for (float& score : scores) {
        score = static_cast<float>(random() % different) - 2;
      }
      std::vector<uint64_t> sorted(n);
      std::iota(sorted.begin(), sorted.end(), 0u);
      auto falling = sorted;
      std::stable_sort(
          sorted.begin(), sorted.end(),
          [&](uint64_t a, uint64_t b) { return scores[a] < scores[b]; });
      std::stable_sort(
          falling.begin(), falling.end(),
          [&](uint64_t a, uint64_t b) { return scores[a] > scores[b]; });
      const ScoreOrder order = OrderOf(scores);
      ASSERT_EQ(AllScoredItems(order), sorted);
      ASSERT_EQ(AllScoredItems(OrderOf(scores, ScoreDirection::kDescending)),
                falling);
      const std::vector<double> wide(scores.begin(), scores.end());
      const ScoreOrder same = *ScoreOrder::FromScores(std::span(wide));
      ASSERT_EQ(same.fingerprint(), order.fingerprint());
      for (uint64_t place = 0; place < n; ++place) {
        ASSERT_EQ(order.ItemAt(place), sorted[place]);
        ASSERT_EQ(order.PlaceOf(sorted[place]), place);
      }
    }
  }
}

TEST(ScoreOrderTest, BothZerosAreOneAndInfinitiesAreTheEnds) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  EXPECT_THAT(AllScoredItems(OrderOf({0, kInf, -0.0f, -kInf, 0, -0.0f, -1})),
              ElementsAre(3, 6, 0, 2, 4, 5, 1));
}

TEST(ScoreOrderTest, NotANumberIsRefusedWithItsPlace) {
  const std::vector<double> scores = {1, std::nan(""), 3};
  EXPECT_THAT(ScoreOrder::FromScores(std::span(scores)),
              StatusIs(kInvalid, HasSubstr("score 1 of 3 is not a number")));
}

TEST(ScoreOrderTest, MoreThanTwoToTheThirtyTwoItemsAreRefused) {
  EXPECT_TRUE(internal::CheckOrderSize(uint64_t{1} << 32).ok());
  EXPECT_THAT(internal::CheckOrderSize((uint64_t{1} << 32) + 1),
              StatusIs(kInvalid, HasSubstr("4294967297 items, only 2^32")));
}

TEST(ScoreOrderTest, TheFingerprintIsThatOfTheOrderNotOfTheScores) {
  EXPECT_EQ(OrderOf({1, 2, 3}).fingerprint(), OrderOf({7, 8, 9}).fingerprint());
  EXPECT_NE(OrderOf({1, 2, 3}).fingerprint(), OrderOf({1, 3, 2}).fingerprint());
  EXPECT_NE(OrderOf({1, 2}).fingerprint(), OrderOf({1, 2, 3}).fingerprint());
}

TEST(ScoreOrderDeathTest, AnItemThatIsNoneIsTheCallersBug) {
  const ScoreOrder order = OrderOf({1, 2});
  EXPECT_DEATH(order.ItemAt(2), "2 of 2");
  EXPECT_DEATH(order.PlaceOf(2), "2 of 2");
}

// The order of n places of one epoch: an era shuffle.
std::vector<uint64_t> SlowBuckets(uint64_t n, uint64_t bucket, uint64_t seed,
                                  uint64_t epoch) {
  const uint64_t key = testing::SlowEpochKey(seed, "shuf", epoch);
  std::vector<uint64_t> places;
  for (uint64_t begin = 0; begin < n; begin += bucket) {
    for (const uint64_t to : testing::SlowPermutation(
             std::min(bucket, n - begin),
             testing::SlowEpochKey(key, "era", begin / bucket))) {
      places.push_back(begin + to);
    }
  }
  return places;
}

std::vector<float> RandomScores(uint64_t n) {
  std::mt19937_64 random(n);
  std::vector<float> scores(n);
  for (float& score : scores) score = static_cast<float>(random() % 50);
  return scores;
}

TEST(OrderMapTest, WithoutBucketsIsTheOrderInEveryEpoch) {
  const ScoreOrder order = OrderOf(RandomScores(600));
  const internal::OrderMap map(order, 0, 9);
  testing::ExpectLaws(map, testing::Range(0, 600, 4));
  for (uint64_t i = 0; i < 600; ++i) {
    ASSERT_EQ(testing::ResolveOne(map, i, 4).position.index, order.ItemAt(i));
    ASSERT_EQ(testing::ResolveOne(map, i, 4).position.epoch, 4u);
  }
}

TEST(OrderMapTest, BucketsAreErasOfTheEpoch) {
  for (const uint64_t n : {1u, 2u, 10u, 700u}) {
    const ScoreOrder order = OrderOf(RandomScores(n));
    for (const uint64_t bucket : {uint64_t{1}, uint64_t{3}, uint64_t{64},
                                  uint64_t{65}, n, n + 1, UINT64_MAX / 2}) {
      const internal::OrderMap map(order, bucket, 42);
      for (const uint64_t epoch : {0u, 1u, 7u}) {
        const std::vector<uint64_t> places =
            SlowBuckets(n, std::min(bucket, n), 42, epoch);
        for (uint64_t i = 0; i < n; ++i) {
          ASSERT_EQ(testing::ResolveOne(map, i, epoch).position.index,
                    order.ItemAt(places[i]))
              << n << ' ' << bucket << ' ' << i;
        }
        testing::ExpectLaws(map, testing::Range(0, n, epoch));
      }
    }
  }
}

TEST(OrderMapTest, EpochsAndBucketsMayMixInOneCall) {
  std::mt19937_64 random(testing::TestSeed(62));
  const internal::OrderMap map(OrderOf(RandomScores(500)), 70, 3);
  std::vector<Position> positions;
  for (int i = 0; i < 1000; ++i) {
    positions.push_back({random() % 500, random() % 3, 0, kWholeItem});
    for (uint64_t run = random() % 5; run > 0; --run) {
      Position next = positions.back();
      if (++next.index < 500) positions.push_back(next);
    }
  }
  testing::ExpectLaws(map, positions);
}

TEST(OrderMapTest, FindsNothingElse) {
  const internal::OrderMap map(OrderOf({3, 1, 2}), 2, 3);
  EXPECT_EQ(map.Find(0, {.index = 3}), std::nullopt);
  EXPECT_EQ(map.Find(1, {.index = 0}), std::nullopt);
}

// Seed 42, n = 10, E = 4. Changing these reorders every run ever resumed: bump
// kOrderVersion.
TEST(OrderMapTest, GoldenValues) {
  std::vector<float> rising(10);
  std::iota(rising.begin(), rising.end(), 0.0f);
  const internal::OrderMap map(OrderOf(rising), 4, 42);
  std::vector<uint64_t> first, second;
  for (uint64_t i = 0; i < 10; ++i) {
    first.push_back(testing::ResolveOne(map, i, 0).position.index);
    second.push_back(testing::ResolveOne(map, i, 1).position.index);
  }
  EXPECT_THAT(first, ElementsAre(1, 0, 2, 3, 4, 6, 7, 5, 8, 9));
  EXPECT_THAT(second, ElementsAre(2, 3, 0, 1, 7, 4, 5, 6, 9, 8));
}

// docs/index-math.md 3 gives 1 3 2 0 5 4 6 7 9 8 for K = 42: the twin above
// agrees with it, given that key.
TEST(OrderMapTest, TheTwinIsTheEraShuffleOfItsText) {
  std::vector<uint64_t> places;
  for (const uint64_t begin : {0u, 4u, 8u}) {
    for (const uint64_t to : testing::SlowPermutation(
             std::min<uint64_t>(4, 10 - begin),
             testing::SlowEpochKey(42, "era", begin / 4))) {
      places.push_back(begin + to);
    }
  }
  EXPECT_THAT(places, ElementsAre(1, 3, 2, 0, 5, 4, 6, 7, 9, 8));
}

}  // namespace
}  // namespace poniente
