// SPDX-License-Identifier: Apache-2.0
#include "store/read/compact_ends.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

// Against plain sums, at sizes around those of its blocks.
TEST(CompactEndsTest, SumsAndLookUpsAreThoseOfAList) {
  std::mt19937_64 random(testing::TestSeed(81));
  for (const size_t size : {0, 1, 63, 64, 65, 127, 128, 129, 1000, 4096}) {
    for (const uint64_t most :
         {uint64_t{0}, uint64_t{1}, uint64_t{300}, uint64_t{1} << 50}) {
      CompactEnds ends;
      std::vector<uint64_t> sums = {0};
      for (size_t i = 0; i < size; ++i) {
        const uint64_t length = random() % 3 == 0 ? 0 : random() % (most + 1);
        ends.Append(length);
        sums.push_back(sums.back() + length);
      }
      ends.Shrink();
      ASSERT_EQ(ends.size(), size);
      ASSERT_EQ(ends.total(), sums.back());
      for (size_t i = 0; i <= size; ++i) ASSERT_EQ(ends.Begin(i), sums[i]);
      for (size_t i = 0; i < size; ++i) {
        ASSERT_EQ(ends.Length(i), sums[i + 1] - sums[i]);
        if (sums[i] == sums[i + 1]) continue;
        ASSERT_EQ(ends.At(sums[i]), i);
        ASSERT_EQ(ends.At(sums[i + 1] - 1), i);
      }
    }
  }
}

// Of any number and width, and with more of them appended afterwards.
TEST(CompactEndsTest, AllAtOnceAreAsOneByOne) {
  std::mt19937_64 random(testing::TestSeed(83));
  for (int round = 0; round < 300; ++round) {
    const uint64_t most = UINT64_MAX >> (11 + random() % 53);
    std::vector<uint64_t> lengths(random() % 700);
    for (uint64_t& length : lengths) {
      // Most blocks are narrower than the widest.
      length = random() % (random() % 100 == 0 ? most + 1 : most / 50 + 1);
    }
    const size_t at_once = random() % (lengths.size() + 1);
    CompactEnds ends = CompactEnds::Of(std::span(lengths).first(at_once));
    CompactEnds one_by_one;
    for (size_t i = 0; i < lengths.size(); ++i) {
      if (i >= at_once) ends.Append(lengths[i]);
      one_by_one.Append(lengths[i]);
    }
    ASSERT_EQ(ends.size(), lengths.size());
    ASSERT_EQ(ends.total(), one_by_one.total());
    uint64_t sum = 0;
    for (size_t i = 0; i < lengths.size(); ++i) {
      ASSERT_EQ(ends.Length(i), lengths[i]);
      ASSERT_EQ(ends.Begin(i), sum);
      sum += lengths[i];
      if (lengths[i] == 0) continue;
      ASSERT_EQ(ends.At(sum - 1), i);
      ASSERT_EQ(ends.At(sum - lengths[i]), i);
    }
  }
}

TEST(CompactEndsTest, TheGreatestLengthIsKept) {
  CompactEnds ends;
  ends.Append(UINT64_MAX);
  for (int i = 0; i < 200; ++i) ends.Append(0);
  EXPECT_EQ(ends.Length(0), UINT64_MAX);
  EXPECT_EQ(ends.Begin(200), UINT64_MAX);
  EXPECT_EQ(ends.At(UINT64_MAX - 1), 0u);
}

// They begin anywhere within a byte, and some reach into a ninth one.
TEST(CompactEndsTest, LengthsOfEveryWidthAreKept) {
  std::mt19937_64 random(testing::TestSeed(82));
  for (int width = 1; width <= 63; ++width) {
    CompactEnds ends;
    std::vector<uint64_t> sums = {0};
    for (int i = 0; i < 200; ++i) {
      // Two of the second block are so wide; their sum is below 2^64.
      const bool is_wide = i == 64 + width % 7 || i == 127 - width % 5;
      const uint64_t wide = (uint64_t{1} << (width - 1)) | (random() % 2);
      const uint64_t length = is_wide ? wide : random() % 2;
      ends.Append(length);
      sums.push_back(sums.back() + length);
    }
    for (uint64_t i = 0; i < 200; ++i) {
      ASSERT_EQ(ends.Begin(i), sums[i]) << width;
      ASSERT_EQ(ends.Length(i), sums[i + 1] - sums[i]) << width;
      if (sums[i] == sums[i + 1]) continue;
      ASSERT_EQ(ends.At(sums[i]), i) << width;
      ASSERT_EQ(ends.At(sums[i + 1] - 1), i) << width;
    }
  }
}

TEST(CompactEndsTest, MemoryFollowsTheLengths) {
  CompactEnds ends;
  for (int i = 0; i < 1'000'000; ++i)
    ends.Append(static_cast<uint64_t>(i % 1000));
  ends.Shrink();
  EXPECT_LT(ends.memory_bytes(), 1'000'000u * 13 / 8 + 4096);
  std::vector<uint64_t> lengths(1'000'000);
  std::iota(lengths.begin(), lengths.end(), 0);
  for (uint64_t& length : lengths) length %= 1000;
  EXPECT_LE(CompactEnds::Of(lengths).memory_bytes(), ends.memory_bytes());
}

}  // namespace
}  // namespace poniente::internal
