// SPDX-License-Identifier: Apache-2.0
#include "store/read/compact_ends.h"

#include <gtest/gtest.h>

#include <random>
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

TEST(CompactEndsTest, TheGreatestLengthIsKept) {
  CompactEnds ends;
  ends.Append(UINT64_MAX);
  for (int i = 0; i < 200; ++i) ends.Append(0);
  EXPECT_EQ(ends.Length(0), UINT64_MAX);
  EXPECT_EQ(ends.Begin(200), UINT64_MAX);
  EXPECT_EQ(ends.At(UINT64_MAX - 1), 0u);
}

TEST(CompactEndsTest, MemoryFollowsTheLengths) {
  CompactEnds ends;
  for (int i = 0; i < 1'000'000; ++i)
    ends.Append(static_cast<uint64_t>(i % 1000));
  ends.Shrink();
  EXPECT_LT(ends.memory_bytes(), 1'000'000u * 13 / 8 + 4096);
}

}  // namespace
}  // namespace poniente::internal
