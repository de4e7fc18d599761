// SPDX-License-Identifier: Apache-2.0
// How many other samples of its own chunk a sample meets in its batch: what
// locality costs a block shuffle in statistics.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "index/permutation/item_order.h"
#include "tests/index/order_specs.h"

namespace poniente::internal {
namespace {

constexpr uint64_t kItems = (uint64_t{1} << 22) + 123;
constexpr uint64_t kChunk = 256;
constexpr uint64_t kBatch = 1024;

struct Case {
  uint64_t window;
  // Relative; batches of larger windows hold fewer pairs and scatter more.
  double bound;
};

// The mean over all batches of the windows that are whole.
double PartnersPerSample(uint64_t window, uint64_t key) {
  const ItemOrder order(kItems, key, Blocks(kChunk, window));
  const uint64_t samples = kItems / (window * kChunk) * (window * kChunk);
  std::vector<uint64_t> items(samples);
  std::iota(items.begin(), items.end(), 0);
  order.Forward(items, items);
  std::vector<uint32_t> met(kItems / kChunk + 1);
  double partners = 0;
  for (size_t at = 0; at < samples; at += kBatch) {
    for (size_t i = at; i < at + kBatch; ++i) {
      partners += 2.0 * met[items[i] / kChunk]++;
    }
    for (size_t i = at; i < at + kBatch; ++i) met[items[i] / kChunk] = 0;
  }
  return partners / static_cast<double>(samples);
}

class ItemOrderQualityTest : public ::testing::TestWithParam<Case> {};

// Batches lie within windows here, so that a batch is a fair draw from the
// window's items.
TEST_P(ItemOrderQualityTest, PartnersAreBatchOverWindow) {
  const auto [window, bound] = GetParam();
  const auto expected = [](double chunks) {
    return (kBatch - 1.0) * (kChunk - 1) / (chunks * kChunk - 1);
  };
  const double chunks = static_cast<double>(window);
  const double partners = PartnersPerSample(window, /*key=*/5);
  EXPECT_NEAR(partners / expected(chunks), 1, bound) << partners;
  // The bound tells the window from one that is a few percent off.
  EXPECT_GT(std::abs(partners / expected(chunks * 0.96) - 1), bound);
  EXPECT_GT(std::abs(partners / expected(chunks * 1.04) - 1), bound);
}

INSTANTIATE_TEST_SUITE_P(Windows, ItemOrderQualityTest,
                         ::testing::Values(Case{16, 0.005}, Case{64, 0.005},
                                           Case{256, 0.01}, Case{1024, 0.01},
                                           Case{4096, 0.02}));

}  // namespace
}  // namespace poniente::internal
