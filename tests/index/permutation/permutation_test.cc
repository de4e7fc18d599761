// SPDX-License-Identifier: Apache-2.0
#include "poniente/permutation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "tests/support/test_seed.h"

namespace poniente {
namespace {

using ::testing::ElementsAreArray;

std::vector<uint64_t> Forward(const Permutation& order,
                              std::vector<uint64_t> values) {
  order.Forward(values, values);
  return values;
}

std::vector<uint64_t> Inverse(const Permutation& order,
                              std::vector<uint64_t> values) {
  order.Inverse(values, values);
  return values;
}

// `count` indices below n, from a plain generator.
std::vector<uint64_t> RandomIndices(uint64_t n, size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> indices(count);
  for (uint64_t& index : indices) index = random() % n;
  return indices;
}

struct Golden {
  uint64_t n;
  std::vector<uint64_t> first;  // Forward(0), Forward(1), ...
  uint64_t last;                // Forward(n - 1)
  uint64_t inverse_of_0;
};

class PermutationGoldenTest : public ::testing::TestWithParam<Golden> {};

// Changing these reorders every run ever resumed: bump kOrderVersion.
TEST_P(PermutationGoldenTest, Key42) {
  const Golden& golden = GetParam();
  const Permutation order(golden.n, /*key=*/42);
  for (size_t i = 0; i < golden.first.size(); ++i) {
    EXPECT_EQ(order.Forward(i), golden.first[i]) << "i=" << i;
  }
  EXPECT_EQ(order.Forward(golden.n - 1), golden.last);
  EXPECT_EQ(order.Inverse(0), golden.inverse_of_0);
  EXPECT_THAT(Forward(order, {0, 1, 2, 3, 4, 5}),
              ElementsAreArray(golden.first));
}

INSTANTIATE_TEST_SUITE_P(
    OrderVersion1, PermutationGoldenTest,
    ::testing::Values(
        Golden{10, {2, 8, 9, 7, 5, 6}, 3, 6},
        Golden{64, {59, 44, 1, 12, 9, 42}, 24, 58},
        Golden{65, {14, 7, 50, 1, 45, 19}, 43, 16},
        Golden{1000, {136, 602, 992, 670, 132, 250}, 24, 694},
        Golden{65536, {10986, 15147, 56037, 59529, 4359, 29720}, 59943, 42863},
        Golden{65537, {52180, 61266, 31254, 65226, 61802, 2725}, 1410, 12849},
        Golden{1000003,
               {77093, 95218, 431366, 450382, 793933, 857946},
               689757,
               474716},
        Golden{3400000000,
               {1901954671, 773042914, 2792082899, 3065135221, 3100022946,
                249368833},
               1308443912,
               3104450731},
        Golden{uint64_t{1} << 32,
               {3935822711, 773042914, 2792082899, 3065135221, 3871145453,
                249368833},
               1612138392,
               3104450731},
        Golden{(uint64_t{1} << 32) + 1,
               {33405320, 981271293, 836973936, 4179253448, 4095715719,
                2239931431},
               3805485005,
               4127021013},
        Golden{1000000000000,
               {331999841327, 149749868910, 980287233993, 849111509261,
                672825852378, 115439601647},
               405032576833,
               852944851660},
        Golden{uint64_t{1} << 63,
               {5004714703522536179, 4049454753182386322, 346848837656161005,
                5736488705160637461, 2527976604608832867, 902135100723289831},
               8869664294664292966u,
               5912882823739127127}),
    [](const auto& golden) { return "Size" + std::to_string(golden.param.n); });

// Forward reaches everything once, and inverse leads back.
void ExpectBijection(uint64_t n, uint64_t key) {
  const Permutation order(n, key);
  std::vector<uint64_t> indices(n);
  std::iota(indices.begin(), indices.end(), uint64_t{0});
  std::vector<uint64_t> images = Forward(order, indices);
  std::vector<bool> seen(n);
  for (uint64_t i = 0; i < n; ++i) {
    ASSERT_LT(images[i], n) << "i=" << i;
    ASSERT_FALSE(seen[images[i]])
        << "i=" << i << " lands on " << images[i] << " again";
    seen[images[i]] = true;
  }
  ASSERT_TRUE(Inverse(order, images) == indices);
}

// Single calls give what a batch does.
void ExpectSingleCallsAgree(uint64_t n, uint64_t key) {
  const Permutation order(n, key);
  std::vector<uint64_t> indices(n);
  std::iota(indices.begin(), indices.end(), uint64_t{0});
  const std::vector<uint64_t> images = Forward(order, indices);
  for (uint64_t i = 0; i < n; ++i) {
    ASSERT_EQ(order.Forward(i), images[i]) << "i=" << i;
    ASSERT_EQ(order.Inverse(images[i]), i);
  }
}

TEST(PermutationTest, VisitsEveryIndexOnceAtSmallSizes) {
  for (uint64_t n = 1; n <= 300; ++n) {
    SCOPED_TRACE(n);
    for (uint64_t key = 0; key < 4; ++key) {
      ASSERT_NO_FATAL_FAILURE(ExpectBijection(n, key));
      ASSERT_NO_FATAL_FAILURE(ExpectSingleCallsAgree(n, key));
    }
  }
}

class PermutationSizeTest : public ::testing::TestWithParam<int> {};

TEST_P(PermutationSizeTest, VisitsEveryIndexOnceAroundPowersOfTwo) {
  const uint64_t power = uint64_t{1} << GetParam();
  for (const uint64_t n : {power - 1, power, power + 1}) {
    SCOPED_TRACE(n);
    ASSERT_NO_FATAL_FAILURE(ExpectBijection(n, 7));
    if (GetParam() <= 17) {
      ASSERT_NO_FATAL_FAILURE(ExpectSingleCallsAgree(n, 7));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Bits, PermutationSizeTest, ::testing::Range(1, 21));

TEST(PermutationTest, InvertsAtRandomSizes) {
  const uint64_t seed = testing::TestSeed(3);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 300; ++i) {
    const uint64_t n = 2 + (random() >> (2 + random() % 60));
    const Permutation order(n, random());
    const auto indices = RandomIndices(n, 500, random());
    const auto images = Forward(order, indices);
    for (const uint64_t image : images) ASSERT_LT(image, n);
    ASSERT_TRUE(Inverse(order, images) == indices) << n;
  }
}

TEST(PermutationTest, BatchesOfAnyLengthEqualSingleCalls) {
  for (const uint64_t n : {50ull, 1000ull, 65537ull, 3400000000ull,
                           (1ull << 32) + 1, 1000000000000ull, 1ull << 63}) {
    const Permutation order(n, 5);
    for (const size_t count : {0, 1, 2, 4, 5, 63, 64, 65, 1023, 1024, 1025}) {
      const auto indices = RandomIndices(n, count, count);
      const auto forward = Forward(order, indices);
      const auto inverse = Inverse(order, indices);
      for (size_t i = 0; i < count; ++i) {
        ASSERT_EQ(forward[i], order.Forward(indices[i])) << n << ' ' << i;
        ASSERT_EQ(inverse[i], order.Inverse(indices[i])) << n << ' ' << i;
      }
    }
  }
}

TEST(PermutationTest, ABatchLeavesItsInputAloneUnlessItIsTheOutput) {
  const Permutation order(1000, 5);
  const std::vector<uint64_t> in = {3, 3, 999, 0};
  std::vector<uint64_t> out(4);
  order.Forward(in, out);
  EXPECT_EQ(in, (std::vector<uint64_t>{3, 3, 999, 0}));
  EXPECT_EQ(out, Forward(order, in));
}

TEST(PermutationTest, InvertsAtHugeSizes) {
  const uint64_t seed = testing::TestSeed(9);
  for (const uint64_t n :
       {(uint64_t{1} << 62) + 1, (uint64_t{1} << 63) - 1, uint64_t{1} << 63}) {
    const Permutation order(n, seed);
    auto indices = RandomIndices(n, 1000, seed);
    indices.push_back(0);
    indices.push_back(n - 1);
    const auto images = Forward(order, indices);
    for (const uint64_t image : images) ASSERT_LT(image, n);
    EXPECT_EQ(Inverse(order, images), indices);
  }
}

TEST(PermutationTest, SmallSizesAreFisherYatesShuffles) {
  // All 120 orders of five items turn up, none far too often.
  std::vector<int> seen(55555);
  int orders = 0;
  for (uint64_t key = 0; key < 12000; ++key) {
    const Permutation order(5, key);
    uint64_t code = 0;
    for (uint64_t i = 0; i < 5; ++i) code = code * 10 + order.Forward(i);
    orders += seen[code]++ == 0;
  }
  EXPECT_EQ(orders, 120);
  for (const int count : seen) {
    if (count == 0) continue;
    EXPECT_NEAR(count, 100, 50);  // 5 standard deviations.
  }
}

TEST(PermutationTest, CopiesAreTheSameOrder) {
  const Permutation order(1000, 3);
  Permutation copy(10, 4);
  copy = order;
  EXPECT_EQ(copy.size(), 1000u);
  EXPECT_EQ(copy.Forward(17), order.Forward(17));
}

TEST(PermutationDeathTest, RefusesSizesOutsideItsRange) {
  EXPECT_DEATH(Permutation(0, 1), "n = 0");
  EXPECT_DEATH(Permutation((uint64_t{1} << 63) + 1, 1),
               "n = 9223372036854775809");
}

TEST(PermutationDeathTest, RefusesIndicesOutsideItsRange) {
  for (const uint64_t n : {10, 1000}) {
    const Permutation order(n, 1);
    EXPECT_DEATH(order.Forward(n), "of 10");
    EXPECT_DEATH(order.Inverse(n), "of 10");
    EXPECT_DEATH(Forward(order, {0, n}), "of 10");
    EXPECT_DEATH(Inverse(order, {0, n}), "of 10");
  }
}

TEST(PermutationDeathTest, RefusesSpansOfDifferentLengths) {
  const Permutation order(1000, 1);
  const std::vector<uint64_t> in(3);
  std::vector<uint64_t> out(2);
  EXPECT_DEATH(order.Forward(in, out), "3 2");
}

}  // namespace
}  // namespace poniente
