// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "poniente/shares.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

using ::poniente::testing::TestRounds;
using ::poniente::testing::TestSeed;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Sizes = std::vector<uint64_t>;

TEST(MicroBatchesTest, AreAsFewAsTheBudgetAllows) {
  const Sizes sizes = {5, 4, 3, 2, 1};
  EXPECT_THAT(MicroBatches(sizes, 15), ElementsAre(BatchShare{0, 5}));
  EXPECT_THAT(MicroBatches(sizes, 14),
              ElementsAre(BatchShare{0, 2}, BatchShare{2, 5}));
  // 5 is above the budget, and neither 4 nor 3 can be joined with the next.
  EXPECT_THAT(MicroBatches(sizes, 4),
              ElementsAre(BatchShare{0, 1}, BatchShare{1, 2}, BatchShare{2, 3},
                          BatchShare{3, 5}));
}

TEST(MicroBatchesTest, AreEvenedOut) {
  // Filled to the budget, they would have 90 and 10.
  EXPECT_THAT(MicroBatches(Sizes(10, 10), 90),
              ElementsAre(BatchShare{0, 5}, BatchShare{5, 10}));
}

TEST(MicroBatchesTest, KeepASampleAboveTheBudgetAlone) {
  EXPECT_THAT(
      MicroBatches(Sizes{1, 100, 1, 1}, 10),
      ElementsAre(BatchShare{0, 1}, BatchShare{1, 2}, BatchShare{2, 4}));
  EXPECT_THAT(MicroBatches(Sizes{7, 7}, 0),
              ElementsAre(BatchShare{0, 1}, BatchShare{1, 2}));
  // Nothing is as large as nothing.
  EXPECT_THAT(MicroBatches(Sizes{0, 0}, 0), ElementsAre(BatchShare{0, 2}));
}

TEST(MicroBatchesTest, AreAtLeastAsManyAsWanted) {
  EXPECT_THAT(
      MicroBatches(Sizes{1, 1, 1, 1}, 100, 3),
      ElementsAre(BatchShare{0, 2}, BatchShare{2, 3}, BatchShare{3, 4}));
  EXPECT_THAT(MicroBatches(Sizes{1, 1}, 100, 4),
              ElementsAre(BatchShare{0, 1}, BatchShare{1, 2}, BatchShare{2, 2},
                          BatchShare{2, 2}));
  EXPECT_THAT(MicroBatches({}, 100, 2),
              ElementsAre(BatchShare{0, 0}, BatchShare{0, 0}));
}

TEST(MicroBatchesTest, AreNoneWithoutSamples) {
  EXPECT_THAT(MicroBatches({}, 100), IsEmpty());
}

TEST(MicroBatchesTest, AddSizesBeyond64Bits) {
  const uint64_t most = std::numeric_limits<uint64_t>::max();
  EXPECT_THAT(
      MicroBatches(Sizes{most, most, 1}, most),
      ElementsAre(BatchShare{0, 1}, BatchShare{1, 2}, BatchShare{2, 3}));
}

// Tries all divisions of a few samples: bit i of `cuts` says whether a
// micro-batch ends behind sample i. Of the fewest (but not fewer than wanted)
// takes those whose largest micro-batch of several samples is the smallest, and
// of these, the one that comes first if early micro-batches have many samples.
std::vector<BatchShare> BestOfAll(const Sizes& sizes, uint64_t budget,
                                  uint64_t at_least) {
  struct Division {
    std::vector<BatchShare> shares;
    uint64_t largest = 0;
  };
  std::vector<Division> all;
  for (uint32_t cuts = 0; cuts < 1u << (sizes.size() - 1); ++cuts) {
    Division division;
    bool is_valid = true;
    uint64_t begin = 0;
    for (uint64_t i = 0; i < sizes.size(); ++i) {
      if (i + 1 < sizes.size() && (cuts >> i & 1) == 0) continue;
      uint64_t size = 0;
      for (uint64_t j = begin; j <= i; ++j) size += sizes[j];
      if (i > begin) {
        is_valid = is_valid && size <= budget;
        division.largest = std::max(division.largest, size);
      }
      division.shares.push_back({begin, i + 1});
      begin = i + 1;
    }
    if (is_valid) all.push_back(division);
  }
  size_t fewest = sizes.size();
  for (const Division& one : all) fewest = std::min(fewest, one.shares.size());
  const size_t count =
      std::min(std::max<size_t>(fewest, at_least), sizes.size());
  const Division* best = nullptr;
  for (const Division& one : all) {
    if (one.shares.size() != count) continue;
    const auto ends = [](const Division& division) {
      std::vector<int64_t> negative;
      for (const BatchShare& share : division.shares) {
        negative.push_back(-static_cast<int64_t>(share.end));
      }
      return negative;
    };
    if (best == nullptr || one.largest < best->largest ||
        (one.largest == best->largest && ends(one) < ends(*best))) {
      best = &one;
    }
  }
  std::vector<BatchShare> result = best->shares;
  result.resize(std::max<size_t>(result.size(), at_least),
                {sizes.size(), sizes.size()});
  return result;
}

TEST(MicroBatchesTest, AreTheBestOfAllDivisions) {
  std::mt19937_64 random(TestSeed(5));
  for (int round = 0; round < TestRounds(3000); ++round) {
    Sizes sizes(1 + random() % 8);
    const uint64_t limit = 1 + random() % 30;
    for (uint64_t& size : sizes) size = random() % limit;
    const uint64_t budget = random() % 60;
    const uint64_t at_least = random() % 3 == 0 ? random() % 10 : 0;
    ASSERT_EQ(MicroBatches(sizes, budget, at_least),
              BestOfAll(sizes, budget, at_least))
        << "round " << round << ": " << ::testing::PrintToString(sizes)
        << " budget " << budget << " at least " << at_least;
  }
}

// What docs/ranks.md says of trainers that communicate in each micro-batch.
TEST(MicroBatchesTest, CanBeEquallyManyOnAllRanks) {
  std::mt19937_64 random(TestSeed(6));
  std::vector<uint64_t> work(100);
  for (uint64_t& one : work) one = 1 + random() % 1000;
  constexpr uint32_t kRanks = 7;
  constexpr uint64_t kBudget = 1500;
  const std::vector<uint64_t> order = BalancedOrder(work, kRanks);
  std::vector<Sizes> sizes(kRanks);
  uint64_t most = 0;
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    const BatchShare share = RankShare(work.size(), rank, kRanks);
    for (uint64_t i = share.begin; i < share.end; ++i) {
      sizes[rank].push_back(work[order[i]]);
    }
    most = std::max<uint64_t>(most, MicroBatches(sizes[rank], kBudget).size());
  }
  for (const Sizes& of_rank : sizes) {
    const std::vector<BatchShare> shares = MicroBatches(of_rank, kBudget, most);
    EXPECT_EQ(shares.size(), most);
    uint64_t end = 0;
    for (const BatchShare& share : shares) {
      EXPECT_EQ(share.begin, end);
      end = share.end;
      uint64_t size = 0;
      for (uint64_t i = share.begin; i < share.end; ++i) size += of_rank[i];
      EXPECT_LE(size, kBudget);
    }
    EXPECT_EQ(end, of_rank.size());
  }
}

}  // namespace
}  // namespace poniente
