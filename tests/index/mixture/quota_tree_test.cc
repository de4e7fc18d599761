// SPDX-License-Identifier: Apache-2.0
#include "index/mixture/quota_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <random>
#include <vector>

#include "tests/index/slow_dealer.h"
#include "tests/support/test_seed.h"

namespace poniente {
namespace {

using ::poniente::testing::SlowDealer;
using ::poniente::testing::Wide;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

constexpr uint64_t kTotal = QuotaTree::kTotal;

// Weights 5, 3, 1, 1.
const std::vector<uint64_t> kFiveThreeOneOne = {
    2305843009213693952, 1383505805528216371, 461168601842738791,
    461168601842738790};

// Quanta for K components, weights spread over `octaves` powers of two; some
// components get nothing if `zeros`.
std::vector<uint64_t> RandomQuanta(size_t components, int octaves, bool zeros,
                                   std::mt19937_64& random) {
  std::vector<double> weights(components);
  double sum = 0;
  for (size_t i = 0; i < components; ++i) {
    const double exponent =
        octaves * static_cast<double>(random() >> 11) * 0x1p-53;
    weights[i] = zeros && i > 0 && random() % 5 == 0 ? 0 : std::exp2(exponent);
    sum += weights[i];
  }
  std::vector<uint64_t> quanta(components);
  uint64_t given = 0;
  for (size_t i = 1; i < components; ++i) {
    quanta[i] = static_cast<uint64_t>(weights[i] / sum * 0x1p62);
    given += quanta[i];
  }
  quanta[0] = kTotal - given;
  return quanta;
}

struct Shape {
  size_t components;
  int octaves;
  bool zeros;
};

void PrintTo(const Shape& shape, std::ostream* out) {
  *out << shape.components << " components over " << shape.octaves << " octaves"
       << (shape.zeros ? ", some of weight 0" : "");
}

class QuotaTreeShapeTest : public ::testing::TestWithParam<Shape> {
 protected:
  std::mt19937_64 random_{testing::TestSeed(11)};
  const std::vector<uint64_t> quanta_ = RandomQuanta(
      GetParam().components, GetParam().octaves, GetParam().zeros, random_);
  const QuotaTree tree_{quanta_};
};

INSTANTIATE_TEST_SUITE_P(
    Shapes, QuotaTreeShapeTest,
    ::testing::Values(Shape{1, 0, false}, Shape{2, 0, false},
                      Shape{3, 30, false}, Shape{4, 8, true},
                      Shape{7, 12, true}, Shape{64, 0, false},
                      Shape{64, 40, true}, Shape{300, 12, true}));

// Changing these reorders every run ever resumed: bump kOrderVersion.
TEST(QuotaTreeTest, DealsTheSamplesOfOrderVersion1) {
  const QuotaTree tree(kFiveThreeOneOne);
  std::vector<uint32_t> dealt;
  for (uint64_t k = 0; k < 20; ++k) dealt.push_back(tree.Locate(k).component);
  EXPECT_THAT(dealt, ElementsAre(0, 1, 0, 2, 0, 1, 0, 3, 0, 1,  //
                                 0, 1, 0, 2, 0, 1, 0, 3, 0, 1));
}

TEST_P(QuotaTreeShapeTest, DealsLikeTheSlowDealer) {
  SlowDealer dealer(quanta_, {});
  EXPECT_THAT(tree_.leaves(), ElementsAreArray(dealer.Leaves()));
  std::vector<uint64_t> counts(quanta_.size());
  for (uint64_t k = 0; k < 3000; ++k) {
    const uint32_t component = dealer.Deal();
    const Draw draw = {component, counts[component]};
    ASSERT_EQ(tree_.Count(component, k), counts[component]) << "k=" << k;
    ASSERT_EQ(tree_.Locate(k), draw) << "k=" << k;
    ASSERT_EQ(tree_.PositionOf(draw.component, draw.ordinal), k);
    ++counts[component];
  }
  for (uint32_t i = 0; i < counts.size(); ++i) {
    ASSERT_EQ(tree_.Count(i, 3000), counts[i]);
  }
}

TEST_P(QuotaTreeShapeTest, PaysDebtsLikeTheSlowDealer) {
  std::vector<int64_t> debts(quanta_.size());
  for (int64_t& debt : debts) {
    debt = static_cast<int64_t>(random_() % (uint64_t{1} << 51)) -
           (int64_t{1} << 50);  // Up to 4 samples either way.
  }
  const QuotaTree tree(quanta_, debts);
  SlowDealer dealer(quanta_, debts);
  std::vector<uint64_t> counts(quanta_.size());
  for (uint64_t k = 0; k < 3000; ++k) {
    const uint32_t component = dealer.Deal();
    const Draw draw = {component, counts[component]++};
    ASSERT_EQ(tree.Locate(k), draw) << "k=" << k;
    ASSERT_EQ(tree.PositionOf(draw.component, draw.ordinal), k);
  }
}

TEST_P(QuotaTreeShapeTest, PositionsInvertDrawsUpToTheLastSample) {
  for (int i = 0; i < 2000; ++i) {
    const int bits = 1 + static_cast<int>(random_() % 62);
    const uint64_t k = random_() >> (64 - bits);
    const Draw draw = tree_.Locate(k);
    ASSERT_EQ(tree_.PositionOf(draw.component, draw.ordinal), k);
    ASSERT_EQ(tree_.Count(draw.component, k), draw.ordinal);
  }
  const Draw last = tree_.Locate((uint64_t{1} << 62) - 1);
  EXPECT_EQ(tree_.PositionOf(last.component, last.ordinal),
            (uint64_t{1} << 62) - 1);
}

TEST_P(QuotaTreeShapeTest, CountsSumToThePosition) {
  for (const uint64_t k : {uint64_t{0}, uint64_t{1}, uint64_t{12345},
                           uint64_t{1} << 60, uint64_t{1} << 62}) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < quanta_.size(); ++i) sum += tree_.Count(i, k);
    EXPECT_EQ(sum, k);
  }
}

TEST_P(QuotaTreeShapeTest, EveryPrefixHoldsEachShareToWithin1Point68) {
  for (int i = 0; i < 200; ++i) {
    const uint64_t k = random_() >> (8 + random_() % 50);
    for (uint32_t c = 0; c < quanta_.size(); ++c) {
      const Wide off = (Wide{tree_.Count(c, k)} << 62) - Wide{k} * quanta_[c];
      ASSERT_LE(std::abs(static_cast<double>(off)) * 0x1p-62, 1.68 + 0x1p-6)
          << "component " << c << ", k=" << k;
    }
  }
}

TEST_P(QuotaTreeShapeTest, BlocksGroupTheirSamplesByLeaf) {
  for (const uint64_t begin : {uint64_t{0}, uint64_t{777}, uint64_t{1} << 60}) {
    const uint64_t end = begin + 1 + random_() % 500;
    std::vector<DrawRun> runs;
    tree_.Expand(begin, end, &runs);
    uint64_t slot = 0;
    std::vector<uint32_t> components;
    for (const DrawRun& run : runs) {
      ASSERT_EQ(run.first_slot, slot);
      ASSERT_EQ(run.first_ordinal, tree_.Count(run.component, begin));
      ASSERT_EQ(run.first_ordinal + run.count, tree_.Count(run.component, end));
      components.push_back(run.component);
      for (uint64_t i = 0; i < run.count; ++i, ++slot) {
        const Draw draw = {run.component, run.first_ordinal + i};
        ASSERT_EQ(tree_.At(begin, end, slot), draw);
        ASSERT_EQ(tree_.SlotOf(begin, end, draw), slot);
      }
    }
    ASSERT_EQ(slot, end - begin);
    // The runs keep the order of the leaves.
    auto leaf = tree_.leaves().begin();
    for (const uint32_t component : components) {
      leaf = std::find(leaf, tree_.leaves().end(), component);
      ASSERT_NE(leaf, tree_.leaves().end());
    }
  }
}

TEST_P(QuotaTreeShapeTest, NoWeightMeansNoSample) {
  for (uint32_t c = 0; c < quanta_.size(); ++c) {
    if (quanta_[c] > 0) continue;
    EXPECT_EQ(tree_.Count(c, uint64_t{1} << 62), 0u);
    EXPECT_EQ(tree_.PositionOf(c, 0), std::nullopt);
    EXPECT_THAT(tree_.leaves(), ::testing::Not(::testing::Contains(c)));
  }
}

TEST(QuotaTreeTest, WholeSharesOfABlockAreTheSameInEachBlock) {
  // 8, 4, 2, 1, 1 of every 16.
  const QuotaTree tree(std::vector<uint64_t>{kTotal / 2, kTotal / 4, kTotal / 8,
                                             kTotal / 16, kTotal / 16});
  for (uint64_t block = 0; block < 200; ++block) {
    const uint64_t counts[] = {8, 4, 2, 1, 1};
    for (uint32_t i = 0; i < 5; ++i) {
      ASSERT_EQ(tree.Count(i, 16 * block + 16) - tree.Count(i, 16 * block),
                counts[i]);
    }
  }
}

TEST(QuotaTreeTest, OneComponentServesEverything) {
  const QuotaTree tree(std::vector<uint64_t>{0, kTotal, 0});
  EXPECT_EQ(tree.Locate(uint64_t{1} << 61), (Draw{1, uint64_t{1} << 61}));
  EXPECT_EQ(tree.Count(1, 7), 7u);
  EXPECT_EQ(tree.PositionOf(1, 7), 7u);
  EXPECT_EQ(tree.PositionOf(1, uint64_t{1} << 62), std::nullopt);
  EXPECT_EQ(tree.PositionOf(0, 0), std::nullopt);
}

TEST(QuotaTreeTest, DebtsHaveABound) {
  const std::vector<uint64_t> quanta = {kTotal / 2, kTotal / 4, kTotal / 4};
  const int64_t bound = int64_t{1} << 61;
  const QuotaTree bounded(quanta, std::vector<int64_t>{bound, -bound, bound});
  const QuotaTree beyond(quanta,
                         std::vector<int64_t>{INT64_MAX, INT64_MIN, INT64_MAX});
  for (uint64_t k = 0; k < 100000; k += 37) {
    ASSERT_EQ(beyond.Locate(k), bounded.Locate(k)) << "k=" << k;
  }
}

TEST(QuotaTreeTest, RanksBeyondTheLastSampleHaveNoPosition) {
  const QuotaTree tree(std::vector<uint64_t>{kTotal - 1, 1});
  EXPECT_EQ(tree.Count(1, uint64_t{1} << 62), 1u);
  EXPECT_TRUE(tree.PositionOf(1, 0).has_value());
  EXPECT_EQ(tree.PositionOf(1, 1), std::nullopt);
  EXPECT_EQ(tree.PositionOf(1, UINT64_MAX), std::nullopt);
}

TEST(QuotaTreeTest, DeepestTreeIsFibonacciAndStillExact) {
  std::vector<uint64_t> quanta = {1, 1};
  uint64_t sum = 2;
  while (true) {
    const uint64_t next = quanta[quanta.size() - 1] + quanta[quanta.size() - 2];
    if (next > kTotal - sum) break;
    quanta.push_back(next);
    sum += next;
  }
  quanta.back() += kTotal - sum;
  ASSERT_GT(quanta.size(), 80u);
  const QuotaTree tree(quanta);
  for (uint64_t k = 1; k < uint64_t{1} << 62; k = k * 3 + 1) {
    const Draw draw = tree.Locate(k);
    ASSERT_EQ(tree.PositionOf(draw.component, draw.ordinal), k);
  }
  for (uint32_t i = 0; i < quanta.size(); ++i) {
    const uint64_t k = uint64_t{1} << 55;
    const Wide off = (Wide{tree.Count(i, k)} << 62) - Wide{k} * quanta[i];
    ASSERT_LE(std::abs(static_cast<double>(off)) * 0x1p-62, 1.68 + 0x1p-6);
  }
}

TEST(QuotaTreeTest, TakesTenThousandComponents) {
  std::mt19937_64 random(testing::TestSeed(5));
  const auto quanta = RandomQuanta(10000, 20, true, random);
  const QuotaTree tree(quanta);
  std::vector<DrawRun> runs;
  tree.Expand(0, 1000000, &runs);
  for (const DrawRun& run : runs) {
    const Wide off =
        (Wide{run.count} << 62) - Wide{1000000} * quanta[run.component];
    ASSERT_LE(std::abs(static_cast<double>(off)) * 0x1p-62, 1.69);
  }
  for (int i = 0; i < 1000; ++i) {
    const uint64_t k = random() >> 4;
    const Draw draw = tree.Locate(k);
    ASSERT_EQ(tree.PositionOf(draw.component, draw.ordinal), k);
  }
}

// The error of the shares in 2^-63 adds at most 3.36 * k * 2^-64 samples.
TEST(QuotaTreeTest, FarPrefixesOfTenThousandSharesStayExact) {
  std::mt19937_64 random(testing::TestSeed(6));
  const auto quanta = RandomQuanta(10000, 25, true, random);
  const QuotaTree tree(quanta);
  std::vector<DrawRun> runs;
  const auto expect_near = [&](uint64_t k, double bound) {
    tree.Expand(0, k, &runs);
    std::vector<uint64_t> counts(quanta.size());
    for (const DrawRun& run : runs) counts[run.component] = run.count;
    for (uint32_t c = 0; c < counts.size(); ++c) {
      const Wide off = (Wide{counts[c]} << 62) - Wide{k} * quanta[c];
      ASSERT_LE(std::abs(static_cast<double>(off)) * 0x1p-62, bound)
          << "component " << c << ", k=" << k;
    }
  };
  for (int i = 0; i < 40; ++i) {
    expect_near(1 + (random() >> (8 + random() % 54)), 1.68 + 0x1p-6);
    expect_near((uint64_t{1} << 60) - (random() >> 10), 1.68 + 0.25);
  }
}

TEST(QuotaTreeDeathTest, RefusesWhatItsCallerMustNotPass) {
  EXPECT_DEATH(QuotaTree(std::vector<uint64_t>{1, 2}), "2\\^62");
  const QuotaTree tree(kFiveThreeOneOne);
  EXPECT_DEATH(tree.Locate(uint64_t{1} << 62), "check failed");
  EXPECT_DEATH(tree.Count(4, 0), "check failed");
  EXPECT_DEATH(tree.PositionOf(4, 0), "check failed");
  EXPECT_DEATH(tree.At(0, 10, 10), "check failed");
  EXPECT_DEATH(tree.SlotOf(0, 10, {0, 5}), "check failed");
}

}  // namespace
}  // namespace poniente
