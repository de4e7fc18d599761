// SPDX-License-Identifier: Apache-2.0
// One order of many items: nothing that it shows may set it apart from a fair
// shuffle. Each statistic must also find fault with a permutation that is known
// to be weak, at the sizes where that one is.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "tests/index/shuffle_scores.h"
#include "tests/index/shuffle_sources.h"

namespace poniente::testing {
namespace {

constexpr uint64_t kSmall = uint64_t{1} << 17;
constexpr uint64_t kMillion = uint64_t{1} << 20;
constexpr uint64_t kBillions = 3400000000;
constexpr uint64_t kMaxItems = uint64_t{1} << 17;

// The worst score of the orders of three keys.
template <class Score>
Statistic OverKeys(uint64_t n, Score score) {
  return [=](Source source) {
    double worst = 0;
    for (uint64_t key = 1; key <= 3; ++key) {
      const double z = score(source(n, key, std::min(n, kMaxItems)));
      if (std::abs(z) > std::abs(worst)) worst = z;
    }
    return worst;
  };
}

// Correlation of each item with the next but `lag`.
double SerialScore(uint64_t n, const Order& order, size_t lag) {
  const double size = static_cast<double>(n);
  const double mean = (size - 1) / 2;
  const double variance = (size * size - 1) / 12;
  double sum = 0;
  for (size_t i = 0; i + lag < order.size(); ++i) {
    sum += (static_cast<double>(order[i]) - mean) *
           (static_cast<double>(order[i + lag]) - mean);
  }
  return sum / variance / std::sqrt(static_cast<double>(order.size() - lag));
}

uint64_t Step(uint64_t n, const Order& order, size_t i, size_t stride) {
  const uint64_t from = order[i];
  const uint64_t to = order[i + stride];
  return to >= from ? to - from : n - from + to;
}

// Which of `parts` equal parts of [0, n) holds the value.
uint64_t PartOf(uint64_t value, uint64_t n, uint64_t parts) {
  return static_cast<uint64_t>(static_cast<double>(value) /
                               static_cast<double>(n) *
                               static_cast<double>(parts));
}

double StepScore(uint64_t n, const Order& order, size_t stride) {
  std::vector<uint32_t> counts(64);
  for (size_t i = 0; i + stride < order.size(); ++i) {
    ++counts[PartOf(Step(n, order, i, stride), n, counts.size())];
  }
  return UniformScore(counts);
}

// Pairs of equal steps among the first: a structured order lives on a few.
double RepeatedStepScore(uint64_t n, const Order& order, size_t pairs) {
  std::vector<uint64_t> steps(pairs);
  for (size_t i = 0; i < pairs; ++i) steps[i] = Step(n, order, i, 1);
  std::sort(steps.begin(), steps.end());
  double repeats = 0;
  for (size_t i = 1, run = 0; i < pairs; ++i) {
    run = steps[i] == steps[i - 1] ? run + 1 : 0;
    repeats += static_cast<double>(run);
  }
  const double count = static_cast<double>(pairs);
  const double expected = count * (count - 1) / 2 / static_cast<double>(n - 1);
  return (repeats - expected) / std::sqrt(expected);
}

class PermutationStatisticsTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  // Levanter's permutation where it is weak by this statistic, at these sizes.
  Source WeakAt(std::initializer_list<uint64_t> sizes, Source otherwise) {
    return std::find(sizes.begin(), sizes.end(), n_) != sizes.end()
               ? LevanterOrder
               : otherwise;
  }

  const uint64_t n_ = GetParam();
};

TEST_P(PermutationStatisticsTest, NeighboursAreNotCorrelated) {
  for (const size_t lag : {1, 2, 16, 1024}) {
    SCOPED_TRACE(lag);
    const Statistic score = OverKeys(n_, [=, this](const Order& order) {
      return SerialScore(n_, order, lag);
    });
    ExpectFair(score);
    ExpectFault(score, lag == 16 ? WeakAt({1000003, kMillion}, BufferOrder)
                                 : BufferOrder);
  }
}

TEST_P(PermutationStatisticsTest, LowBitsOfItemsDoNotFollowThoseOfTheirPlaces) {
  const Statistic score = OverKeys(n_, [](const Order& order) {
    PairTable table(64);
    for (size_t i = 0; i < order.size(); ++i) table.Add(i % 64, order[i] % 64);
    return table.Score();
  });
  ExpectFair(score);
  ExpectFault(score, LevanterOrder);
}

TEST_P(PermutationStatisticsTest, LowBitsOfNeighboursAreUnrelated) {
  const Statistic score = OverKeys(n_, [](const Order& order) {
    PairTable table(64);
    for (size_t i = 0; i + 1 < order.size(); i += 2) {
      table.Add(order[i] % 64, order[i + 1] % 64);
    }
    return table.Score();
  });
  ExpectFair(score);
  ExpectFault(score, LevanterOrder);
}

TEST_P(PermutationStatisticsTest, RegionsOfNeighboursAreUnrelated) {
  const Statistic score = OverKeys(n_, [=, this](const Order& order) {
    PairTable table(32);
    for (size_t i = 0; i + 1 < order.size(); i += 2) {
      table.Add(PartOf(order[i], n_, 32), PartOf(order[i + 1], n_, 32));
    }
    return table.Score();
  });
  ExpectFair(score);
  ExpectFault(score, WeakAt({1000003, kMillion}, ColumnOrder));
}

TEST_P(PermutationStatisticsTest, RegionsOfThreeInARowAreUnrelated) {
  const Statistic score = OverKeys(n_, [=, this](const Order& order) {
    std::vector<uint32_t> counts(16 * 16 * 16);
    for (size_t i = 0; i + 2 < order.size(); i += 3) {
      ++counts[PartOf(order[i], n_, 16) * 256 +
               PartOf(order[i + 1], n_, 16) * 16 +
               PartOf(order[i + 2], n_, 16)];
    }
    return UniformScore(counts);
  });
  ExpectFair(score);
  ExpectFault(score, ColumnOrder);
}

TEST_P(PermutationStatisticsTest, StepsAreOfAllLengths) {
  for (const size_t stride : {1, 2, 16, 1024}) {
    SCOPED_TRACE(stride);
    const Statistic score = OverKeys(n_, [=, this](const Order& order) {
      return StepScore(n_, order, stride);
    });
    ExpectFair(score);
    ExpectFault(score, stride == 16 ? LevanterOrder
                                    : WeakAt({1000003, kMillion}, ColumnOrder));
  }
}

TEST_P(PermutationStatisticsTest, StepsSeldomRepeat) {
  const size_t pairs = n_ > 10 * kMillion ? kMaxItems - 1 : 4096;
  const Statistic score = OverKeys(n_, [=, this](const Order& order) {
    return RepeatedStepScore(n_, order, pairs);
  });
  ExpectFair(score);
  ExpectFault(score, WeakAt({1000003, kMillion, kBillions}, ColumnOrder));
}

INSTANTIATE_TEST_SUITE_P(Sizes, PermutationStatisticsTest,
                         ::testing::Values(65537, kSmall, 1000003, kMillion,
                                           kBillions),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace poniente::testing
