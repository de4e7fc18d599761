// SPDX-License-Identifier: Apache-2.0
// A batch is a window of consecutive places. It must hold items of all residues
// and of all regions as a fair sample would: corpora are often written in turns
// to 2, 64 or 1024 files, and a batch must not come from a few of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/index/shuffle_scores.h"
#include "tests/index/shuffle_sources.h"

namespace poniente::testing {
namespace {

constexpr size_t kWindow = 1024;
constexpr size_t kMaxWindows = 64;

// How unevenly windows fall on classes of nearly equal size; `class_of` an
// item.
template <class ClassOf>
double WindowScore(uint64_t n, const Order& order, size_t classes,
                   ClassOf class_of) {
  const double expected =
      static_cast<double>(kWindow) / static_cast<double>(classes);
  const double size = static_cast<double>(n);
  const double without_replacement = (size - kWindow) / (size - 1);
  double chi_squared = 0;
  double windows = 0;
  for (size_t at = 0; at + kWindow <= order.size(); at += kWindow) {
    std::vector<uint32_t> counts(classes);
    for (size_t i = at; i < at + kWindow; ++i) ++counts[class_of(order[i])];
    for (const uint32_t count : counts) {
      chi_squared += (count - expected) * (count - expected) / expected;
    }
    ++windows;
  }
  return ChiSquaredScore(chi_squared / without_replacement,
                         windows * (static_cast<double>(classes) - 1));
}

class PermutationWindowStatisticsTest
    : public ::testing::TestWithParam<uint64_t> {
 protected:
  template <class ClassOf>
  Statistic OverKeys(size_t classes, ClassOf class_of) {
    return [=, this](Source source) {
      double worst = 0;
      for (uint64_t key = 1; key <= 3; ++key) {
        const Order order =
            source(n_, key, std::min<uint64_t>(n_, kMaxWindows * kWindow));
        const double z = WindowScore(n_, order, classes, class_of);
        if (std::abs(z) > std::abs(worst)) worst = z;
      }
      return worst;
    };
  }

  const uint64_t n_ = GetParam();
};

TEST_P(PermutationWindowStatisticsTest, HoldOddAndEvenItemsAlike) {
  const Statistic score = OverKeys(2, [](uint64_t item) { return item % 2; });
  ExpectFair(score);
  ExpectFault(score, n_ == 65537 ? ColumnOrder : LevanterOrder);
}

TEST_P(PermutationWindowStatisticsTest, HoldAllResiduesModulo64) {
  const Statistic score = OverKeys(64, [](uint64_t item) { return item % 64; });
  ExpectFair(score);
  ExpectFault(score, LevanterOrder);
}

TEST_P(PermutationWindowStatisticsTest, HoldAllResiduesModulo1024) {
  const Statistic score =
      OverKeys(1024, [](uint64_t item) { return item % 1024; });
  ExpectFair(score);
  ExpectFault(score, LevanterOrder);
}

TEST_P(PermutationWindowStatisticsTest, HoldItemsOfAllRegions) {
  const double scale = 1024 / static_cast<double>(n_);
  const Statistic score = OverKeys(1024, [=](uint64_t item) {
    return static_cast<size_t>(static_cast<double>(item) * scale);
  });
  ExpectFair(score);
  const bool weak = n_ == 1000003 || n_ == uint64_t{1} << 20;
  ExpectFault(score, weak ? LevanterOrder : ColumnOrder);
}

INSTANTIATE_TEST_SUITE_P(Sizes, PermutationWindowStatisticsTest,
                         ::testing::Values(65537, 1000003, uint64_t{1} << 20,
                                           3400000000),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace poniente::testing
