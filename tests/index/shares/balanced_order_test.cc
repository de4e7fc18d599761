// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "bench/measure/packed_windows.h"
#include "poniente/shares.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

using ::poniente::testing::TestRounds;
using ::poniente::testing::TestSeed;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();

__extension__ typedef unsigned __int128 Load;

std::vector<uint64_t> SamplesOf(const std::vector<uint64_t>& order,
                                uint32_t rank, uint32_t ranks) {
  const BatchShare share = RankShare(order.size(), rank, ranks);
  return {order.begin() + static_cast<ptrdiff_t>(share.begin),
          order.begin() + static_cast<ptrdiff_t>(share.end)};
}

// The rule, sample by sample: the heaviest that is left goes to the rank with
// room whose load is the least.
std::vector<std::vector<uint64_t>> SlowShares(std::span<const uint64_t> work,
                                              uint32_t ranks) {
  const auto batch = static_cast<Load>(work.size());
  std::vector<std::vector<uint64_t>> shares(ranks);
  std::vector<Load> loads(ranks, 0);
  std::vector<bool> is_taken(work.size(), false);
  for (size_t n = 0; n < work.size(); ++n) {
    size_t heaviest = work.size();
    for (size_t i = 0; i < work.size(); ++i) {
      if (is_taken[i]) continue;
      if (heaviest == work.size() || work[i] > work[heaviest]) heaviest = i;
    }
    is_taken[heaviest] = true;
    size_t least = ranks;
    for (size_t r = 0; r < ranks; ++r) {
      const auto room =
          static_cast<size_t>((r + 1) * batch / ranks - r * batch / ranks);
      if (shares[r].size() == room) continue;
      if (least == ranks || loads[r] < loads[least]) least = r;
    }
    shares[least].push_back(heaviest);
    loads[least] += work[heaviest];
  }
  return shares;
}

TEST(RankShareTest, SharesFollowOneAnotherAndDifferByOneAtMost) {
  for (const uint64_t batch : {0, 1, 7, 12, 1000}) {
    for (const uint32_t ranks : {1, 2, 3, 8, 13}) {
      uint64_t end = 0;
      for (uint32_t rank = 0; rank < ranks; ++rank) {
        const BatchShare share = RankShare(batch, rank, ranks);
        ASSERT_EQ(share.begin, end);
        end = share.end;
        ASSERT_GE(end - share.begin, batch / ranks);
        ASSERT_LE(end - share.begin, (batch + ranks - 1) / ranks);
      }
      ASSERT_EQ(end, batch);
    }
  }
}

TEST(RankShareTest, RoundsDown) {
  EXPECT_EQ(RankShare(10, 0, 3), (BatchShare{0, 3}));
  EXPECT_EQ(RankShare(10, 1, 3), (BatchShare{3, 6}));
  EXPECT_EQ(RankShare(10, 2, 3), (BatchShare{6, 10}));
  EXPECT_EQ(RankShare(UINT64_MAX, 1, 2), (BatchShare{INT64_MAX, UINT64_MAX}));
}

TEST(RankShareDeathTest, RefusesARankThatDoesNotExist) {
  EXPECT_DEATH(RankShare(10, 3, 3), "3 of 3");
}

TEST(SampleWorkTest, AddsSquaresAndALinearPart) {
  EXPECT_EQ(SampleWork({}, 0, 5), 0u);
  EXPECT_EQ(SampleWork({}, 7, 5), 35u);  // all padding
  const std::vector<uint32_t> lengths = {3, 0, 4};
  EXPECT_EQ(SampleWork(lengths, 8, 0), 25u);
  EXPECT_EQ(SampleWork(lengths, 8, 10), 105u);
}

TEST(SampleWorkTest, StopsAtTheLargestNumber) {
  const uint32_t long_one = std::numeric_limits<uint32_t>::max();
  const std::vector<uint32_t> one = {long_one};
  const std::vector<uint32_t> two = {long_one, long_one};
  const uint64_t square = uint64_t{long_one} * long_one;
  EXPECT_EQ(SampleWork(one, 1, kMost - square), kMost);
  EXPECT_EQ(SampleWork(one, 1, kMost - square - 1), kMost - 1);
  EXPECT_EQ(SampleWork(one, 1, kMost), kMost);
  EXPECT_EQ(SampleWork(two, 0, 0), kMost);
  EXPECT_EQ(SampleWork({}, kMost, kMost), kMost);
}

TEST(BalancedOrderTest, DividesTheExampleOfItsDefinition) {
  const std::vector<uint64_t> work = {50, 10, 40, 10, 30, 20, 60, 5, 5, 70};
  const std::vector<uint64_t> order = BalancedOrder(work, 4);
  EXPECT_THAT(SamplesOf(order, 0, 4), ElementsAre(9, 3));
  EXPECT_THAT(SamplesOf(order, 1, 4), ElementsAre(6, 1, 7));
  EXPECT_THAT(SamplesOf(order, 2, 4), ElementsAre(0, 5));
  EXPECT_THAT(SamplesOf(order, 3, 4), ElementsAre(2, 4, 8));
}

TEST(BalancedOrderTest, DividesTheExampleOfItsPage) {  // docs/ranks.md
  const std::vector<uint64_t> work = {90, 80, 10, 20, 50, 60, 30, 40};
  EXPECT_THAT(BalancedOrder(work, 4), ElementsAre(0, 2, 1, 3, 5, 6, 4, 7));
}

// Literals of other shapes: a change would move samples between ranks.
TEST(BalancedOrderTest, KeepsItsGoldenOrders) {
  const std::vector<uint64_t> equal(7, 3);
  EXPECT_THAT(BalancedOrder(equal, 3), ElementsAre(0, 3, 1, 4, 2, 5, 6));
  const std::vector<uint64_t> none(5, 0);
  // Load does not grow, so each rank is filled before the next.
  EXPECT_THAT(BalancedOrder(none, 2), ElementsAre(0, 1, 2, 3, 4));
  const std::vector<uint64_t> few = {1, 9, 4};
  EXPECT_THAT(BalancedOrder(few, 1), ElementsAre(1, 2, 0));
  EXPECT_THAT(BalancedOrder(few, 3), ElementsAre(1, 2, 0));
}

TEST(BalancedOrderTest, HasNothingToDivideInAnEmptyStep) {
  EXPECT_THAT(BalancedOrder({}, 1), IsEmpty());
  EXPECT_THAT(BalancedOrder({}, 100000), IsEmpty());
}

TEST(BalancedOrderTest, LeavesRanksEmptyIfThereAreMoreThanSamples) {
  const std::vector<uint64_t> work = {1, 7, 7};
  const std::vector<uint64_t> order = BalancedOrder(work, 7);
  // RankShare() gives a sample to ranks 2, 4 and 6.
  EXPECT_THAT(SamplesOf(order, 2, 7), ElementsAre(1));
  EXPECT_THAT(SamplesOf(order, 4, 7), ElementsAre(2));
  EXPECT_THAT(SamplesOf(order, 6, 7), ElementsAre(0));
  for (const uint32_t rank : {0, 1, 3, 5}) {
    EXPECT_THAT(SamplesOf(order, rank, 7), IsEmpty());
  }
}

TEST(BalancedOrderTest, AddsWorkBeyond64Bits) {
  // If loads wrapped, rank 0 would seem to have the least after two samples.
  const std::vector<uint64_t> work = {kMost, kMost, kMost, 2, kMost - 1, 1};
  const std::vector<uint64_t> order = BalancedOrder(work, 2);
  EXPECT_THAT(SamplesOf(order, 0, 2), ElementsAre(0, 2, 5));
  EXPECT_THAT(SamplesOf(order, 1, 2), ElementsAre(1, 4, 3));
}

TEST(BalancedOrderDeathTest, RefusesNoRanks) {
  EXPECT_DEATH(BalancedOrder({}, 0), "0 ranks");
}

TEST(BalancedOrderTest, EqualsTheSlowRule) {
  std::mt19937_64 random(TestSeed(1));
  for (int round = 0; round < TestRounds(4000); ++round) {
    const auto ranks = static_cast<uint32_t>(1 + random() % 20);
    std::vector<uint64_t> work(random() % 40);
    // Many ties, few ties, or sums far beyond 64 bits.
    const uint64_t limit = round % 3 == 0   ? 1 + random() % 4
                           : round % 3 == 1 ? 1 + random() % 100000
                                            : kMost;
    for (uint64_t& one : work) one = random() % limit;
    if (limit == kMost) {
      for (uint64_t& one : work) one |= uint64_t{1} << 63;
    }
    const std::vector<uint64_t> order = BalancedOrder(work, ranks);
    ASSERT_EQ(order.size(), work.size());
    const auto slow = SlowShares(work, ranks);
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      ASSERT_EQ(SamplesOf(order, rank, ranks), slow[rank])
          << "round " << round << ", rank " << rank << " of " << ranks;
    }
  }
}

TEST(BalancedOrderTest, HoldsEverySampleOnce) {
  std::mt19937_64 random(TestSeed(2));
  for (int round = 0; round < TestRounds(1000); ++round) {
    const auto ranks = static_cast<uint32_t>(1 + random() % 300);
    std::vector<uint64_t> work(random() % 600);
    for (uint64_t& one : work) one = random() % 50;
    std::vector<uint64_t> order = BalancedOrder(work, ranks);
    std::sort(order.begin(), order.end());
    ASSERT_EQ(order.size(), work.size());
    for (size_t i = 0; i < order.size(); ++i) ASSERT_EQ(order[i], i);
  }
}

// Steps of 512 windows of whole documents on 64 ranks.
class PackedBalanceTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  static constexpr size_t kStep = 512;
  static constexpr uint32_t kRanks = 64;
  static constexpr int kSteps = 1000;

  // Returns the greatest load of a rank over the mean, of kSteps steps, in
  // ascending order.
  static std::vector<double> Imbalances(bench::Packing packing,
                                        uint64_t linear_cost) {
    std::vector<uint64_t> pool;
    for (const bench::PackedWindow& window : bench::MakePackedWindows(
             16 * kStep, GetParam(), packing, TestSeed(3))) {
      pool.push_back(SampleWork(window, GetParam(), linear_cost));
    }
    std::mt19937_64 random(4);
    std::vector<double> imbalances;
    for (size_t at = pool.size(); imbalances.size() < kSteps; at += kStep) {
      if (at == pool.size()) {
        std::shuffle(pool.begin(), pool.end(), random);
        at = 0;
      }
      imbalances.push_back(Imbalance({&pool[at], kStep}));
    }
    std::sort(imbalances.begin(), imbalances.end());
    return imbalances;
  }

 private:
  static double Imbalance(std::span<const uint64_t> work) {
    const std::vector<uint64_t> order = BalancedOrder(work, kRanks);
    uint64_t sum = 0;
    uint64_t most = 0;
    for (size_t first = 0; first < kStep; first += kStep / kRanks) {
      uint64_t load = 0;
      for (size_t i = 0; i < kStep / kRanks; ++i)
        load += work[order[first + i]];
      sum += load;
      most = std::max(most, load);
    }
    return static_cast<double>(most) * kRanks / static_cast<double>(sum);
  }
};

TEST_P(PackedBalanceTest, RanksAreWithinTwoPercentOfTheMean) {
  const std::vector<double> imbalances =
      Imbalances(bench::Packing::kPacked, /*linear_cost=*/0);
  // All but 5 of 1000 steps.
  EXPECT_LE(imbalances[kSteps - 6], 1.02);
  EXPECT_LE(imbalances.back(), 1.03);
}

// However windows were packed. The attention alone may differ by 4 % then.
TEST_P(PackedBalanceTest, RanksAreWithinOnePercentIfLinearLayersCount) {
  // A transformer of width 4096.
  EXPECT_LE(Imbalances(bench::Packing::kAsTheyCome, 6 * 4096).back(), 1.01);
}

INSTANTIATE_TEST_SUITE_P(Lengths, PackedBalanceTest,
                         ::testing::Values(2048, 4096, 8192));

}  // namespace
}  // namespace poniente
