// SPDX-License-Identifier: Apache-2.0
// Statistics that tell a shuffle from a bijection: each must find fault with
// the permutation used by Levanter (five Feistel rounds of a product modulo a
// power of two, which carries information upwards only), and none with ours.
// Scores are in standard deviations from what a fair shuffle gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "poniente/permutation.h"

namespace poniente {
namespace {

constexpr uint64_t kSize = uint64_t{1} << 20;
constexpr uint64_t kBatch = 1024;
constexpr double kMaxScore = 4.5;
constexpr double kClearScore = 20;

using Order = std::vector<uint64_t>;

Order OurOrder(uint64_t key) {
  const Permutation permutation(kSize, key);
  Order order(kSize);
  for (uint64_t i = 0; i < kSize; ++i) order[i] = i;
  permutation.Forward(order, order);
  return order;
}

Order LevanterOrder(uint64_t key) {
  const uint64_t mask = (1 << 10) - 1;
  Order order(kSize);
  for (uint64_t i = 0; i < kSize; ++i) {
    uint64_t left = i >> 10;
    uint64_t right = i & mask;
    for (uint64_t round = 0; round < 5; ++round) {
      const uint64_t round_key = key * 977 + round * 7919;
      const uint64_t mixed = (right * 2654435761u + round_key) & mask;
      const uint64_t old_right = right;
      right = left ^ mixed;
      left = old_right;
    }
    order[i] = left << 10 | right;
  }
  return order;
}

// Odd values among 1024 consecutive ones: their squared deviation, over all
// batches, against a hypergeometric count's.
double ParityScore(const Order& order) {
  const double batches = kSize / kBatch;
  double sum = 0;
  for (size_t at = 0; at < kSize; at += kBatch) {
    double odd = 0;
    for (size_t i = at; i < at + kBatch; ++i) odd += order[i] % 2;
    sum += (odd - kBatch / 2.0) * (odd - kBatch / 2.0);
  }
  const double variance =
      kBatch / 4.0 * (double{kSize} - kBatch) / (double{kSize} - 1);
  return (sum / batches / variance - 1) / std::sqrt(2 / batches);
}

// Distances of neighbours that occur again: a fair shuffle rarely repeats a
// distance in 4096 pairs, a structured one lives on a few.
double RepeatedStepScore(const Order& order) {
  const size_t pairs = 4096;
  std::vector<uint64_t> steps(pairs);
  for (size_t i = 0; i < pairs; ++i) {
    steps[i] = (order[i + 1] - order[i]) % kSize;
  }
  std::sort(steps.begin(), steps.end());
  double repeats = 0;
  for (size_t i = 1; i < pairs; ++i) repeats += steps[i] == steps[i - 1];
  const double expected = pairs * (pairs - 1.0) / 2 / kSize;
  return (repeats - expected) / std::sqrt(expected);
}

// Correlation of each value with the next but `lag`.
double SerialScore(const Order& order, size_t lag) {
  const double mean = (kSize - 1) / 2.0;
  const double variance = (double{kSize} * kSize - 1) / 12;
  double sum = 0;
  for (size_t i = 0; i + lag < kSize; ++i) {
    sum += (order[i] - mean) * (order[i + lag] - mean);
  }
  return sum / variance / std::sqrt(double{kSize});
}

class PermutationStatisticsTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  const Order ours_ = OurOrder(GetParam());
  const Order levanter_ = LevanterOrder(GetParam());
};

TEST_P(PermutationStatisticsTest, BatchesHoldOddAndEvenItemsAlike) {
  EXPECT_LT(std::abs(ParityScore(ours_)), kMaxScore);
  EXPECT_GT(std::abs(ParityScore(levanter_)), kClearScore);
}

TEST_P(PermutationStatisticsTest, StepsBetweenNeighboursSeldomRepeat) {
  EXPECT_LT(std::abs(RepeatedStepScore(ours_)), kMaxScore);
  EXPECT_GT(std::abs(RepeatedStepScore(levanter_)), kClearScore);
}

TEST_P(PermutationStatisticsTest, NeighboursAreNotCorrelated) {
  double worst_levanter = 0;
  for (const size_t lag : {1, 2, 16, 1024}) {
    EXPECT_LT(std::abs(SerialScore(ours_, lag)), kMaxScore) << "lag " << lag;
    worst_levanter =
        std::max(worst_levanter, std::abs(SerialScore(levanter_, lag)));
  }
  EXPECT_GT(worst_levanter, kClearScore);
}

INSTANTIATE_TEST_SUITE_P(Keys, PermutationStatisticsTest,
                         ::testing::Values(1, 2, 3));

}  // namespace
}  // namespace poniente
