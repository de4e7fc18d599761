// SPDX-License-Identifier: Apache-2.0
// Orders of few items, over many keys: as a whole they must be spread like fair
// shuffles. Sizes up to 64 are tables, larger ones the network.
#include <gtest/gtest.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/index/shuffle_scores.h"
#include "tests/index/shuffle_sources.h"

namespace poniente::testing {
namespace {

// The number of an order among all n!.
size_t RankOf(const Order& order) {
  size_t rank = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    size_t smaller = 0;
    for (size_t j = i + 1; j < order.size(); ++j)
      smaller += order[j] < order[i];
    rank = rank * (order.size() - i) + smaller;
  }
  return rank;
}

class PermutationTinyStatisticsTest
    : public ::testing::TestWithParam<uint64_t> {};

TEST_P(PermutationTinyStatisticsTest, AllOrdersAreEquallyLikely) {
  const uint64_t n = GetParam();
  const Statistic score = [n](Source source) {
    size_t orders = 1;
    for (size_t i = 2; i <= n; ++i) orders *= i;
    std::vector<uint32_t> counts(orders);
    for (uint64_t key = 0; key < 500 * orders; ++key) {
      ++counts[RankOf(source(n, key, n))];
    }
    return UniformScore(counts);
  };
  ExpectFair(score);
  ExpectFault(score, LevanterOrder);
}

INSTANTIATE_TEST_SUITE_P(Sizes, PermutationTinyStatisticsTest,
                         ::testing::Values(3, 4, 5, 6),
                         ::testing::PrintToStringParamName());

double Inversions(const Order& order) {
  std::vector<uint32_t> tree(order.size() + 1);
  size_t inversions = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    size_t smaller = 0;
    for (size_t at = order[i]; at > 0; at &= at - 1) smaller += tree[at];
    inversions += i - smaller;
    for (size_t at = order[i] + 1; at <= order.size(); at += at & (0 - at)) {
      ++tree[at];
    }
  }
  return static_cast<double>(inversions);
}

class PermutationSmallStatisticsTest
    : public ::testing::TestWithParam<uint64_t> {
 protected:
  // Moments of `value` over the orders of as many keys as make 600,000 items.
  template <class Value>
  Statistic Distribution(Moments moments, Value value) {
    return [=, this](Source source) {
      Moments sample = moments;
      for (uint64_t key = 0; key < 600000 / n_; ++key) {
        sample.Add(value(source(n_, key, n_)));
      }
      return sample.Score();
    };
  }

  const uint64_t n_ = GetParam();
  const double size_ = static_cast<double>(n_);
};

TEST_P(PermutationSmallStatisticsTest, EveryItemGoesEverywhere) {
  const Statistic score = [this](Source source) {
    PairTable table(n_);
    for (uint64_t key = 0; key < 600000 / n_; ++key) {
      const Order order = source(n_, key, n_);
      for (size_t i = 0; i < n_; ++i) table.Add(i, order[i]);
    }
    return table.Score();
  };
  ExpectFair(score);
  const bool fair_places = n_ == 64 || n_ == 256 || n_ == 1000;
  ExpectFault(score, fair_places ? BufferOrder : LevanterOrder);
}

TEST_P(PermutationSmallStatisticsTest, TheFirstTwoItemsAreUnrelated) {
  const Statistic score = [this](Source source) {
    PairTable table(8);
    for (uint64_t key = 0; key < 20000; ++key) {
      const Order order = source(n_, key, 2);
      table.Add(order[0] * 8 / n_, order[1] * 8 / n_);
    }
    return table.Score();
  };
  ExpectFair(score);
  ExpectFault(score, LevanterOrder);
}

TEST_P(PermutationSmallStatisticsTest, InversionsAreThoseOfShuffles) {
  const Statistic score = Distribution(
      {size_ * (size_ - 1) / 4, size_ * (size_ - 1) * (2 * size_ + 5) / 72},
      Inversions);
  ExpectFair(score);
  ExpectFault(score, n_ == 1000 ? BufferOrder : LevanterOrder);
}

TEST_P(PermutationSmallStatisticsTest, DescentsAreThoseOfShuffles) {
  const Statistic score =
      Distribution({(size_ - 1) / 2, (size_ + 1) / 12}, [](const Order& order) {
        double descents = 0;
        for (size_t i = 1; i < order.size(); ++i) {
          descents += order[i] < order[i - 1];
        }
        return descents;
      });
  ExpectFair(score);
  ExpectFault(score, LevanterOrder);
}

TEST_P(PermutationSmallStatisticsTest, FixedPointsAreThoseOfShuffles) {
  const Statistic score = Distribution({1, 1, 4}, [](const Order& order) {
    double fixed = 0;
    for (size_t i = 0; i < order.size(); ++i) fixed += order[i] == i;
    return fixed;
  });
  ExpectFair(score);
  ExpectFault(score, n_ == 1000 ? BufferOrder : LevanterOrder);
}

TEST_P(PermutationSmallStatisticsTest, CyclesAreThoseOfShuffles) {
  double mean = 0;
  double variance = 0;
  double fourth = 0;
  for (double i = 1; i <= size_; ++i) {
    mean += 1 / i;
    variance += (1 - 1 / i) / i;
    // Of the fourth cumulant of one independent draw in n.
    const double v = (1 - 1 / i) / i;
    fourth += v * (1 - 6 * v);
  }
  fourth += 3 * variance * variance;
  const Statistic score =
      Distribution({mean, variance, fourth}, [](const Order& order) {
        return static_cast<double>(CountCycles(order));
      });
  ExpectFair(score);
  ExpectFault(score, LevanterOrder);
}

TEST_P(PermutationSmallStatisticsTest, HalfOfTheOrdersAreEven) {
  const Statistic score = Distribution(
      {0, 1, 2}, [](const Order& order) { return IsOdd(order) ? 1.0 : -1.0; });
  ExpectFair(score);
  ExpectFault(score, std::has_single_bit(n_) ? LevanterOrder : EvenOrder);
}

// Even items at even places: their low bits must not stick to the places'.
TEST_P(PermutationSmallStatisticsTest, LowBitsAreNotRetained) {
  const double even = static_cast<double>((n_ + 1) / 2);
  const double share = even / size_;
  const Statistic score = Distribution(
      {even * share, even * share * (1 - share) * (size_ - even) / (size_ - 1)},
      [](const Order& order) {
        double retained = 0;
        for (size_t i = 0; i < order.size(); i += 2) {
          retained += order[i] % 2 == 0;
        }
        return retained;
      });
  ExpectFair(score);
  ExpectFault(score, n_ == 1000 ? PairOrder : LevanterOrder);
}

TEST_P(PermutationSmallStatisticsTest, TheUpperHalfDoesNotStayThere) {
  const double upper = static_cast<double>(n_ - n_ / 2);
  const double share = upper / size_;
  const Statistic score =
      Distribution({upper * share, upper * share * (1 - share) *
                                       (size_ - upper) / (size_ - 1)},
                   [](const Order& order) {
                     double retained = 0;
                     for (size_t i = order.size() / 2; i < order.size(); ++i) {
                       retained += order[i] >= order.size() / 2;
                     }
                     return retained;
                   });
  ExpectFair(score);
  ExpectFault(score, n_ == 1000 ? BufferOrder : LevanterOrder);
}

INSTANTIATE_TEST_SUITE_P(Sizes, PermutationSmallStatisticsTest,
                         ::testing::Values(64, 65, 100, 128, 256, 1000),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace poniente::testing
