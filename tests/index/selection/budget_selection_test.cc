// SPDX-License-Identifier: Apache-2.0
#include "index/selection/budget_selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "index/keyed_hash.h"
#include "poniente/permutation.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

using ::testing::ElementsAre;

std::vector<uint64_t> ItemsOf(const Selection& selection) {
  std::vector<uint64_t> items;
  for (uint64_t i = 0; i < selection.count(); ++i) {
    items.push_back(selection.Select(i));
  }
  return items;
}

TEST(BudgetSelectionTest, TheNumberOfItemsIsTheShareRoundedUp) {
  EXPECT_EQ(BudgetItems(0, 1, 10), 0u);
  EXPECT_EQ(BudgetItems(1, 1, 1'000'000), 1u);
  EXPECT_EQ(BudgetItems(1000, 1, 10), 100u);
  EXPECT_EQ(BudgetItems(1001, 1, 10), 101u);
  EXPECT_EQ(BudgetItems(7, 3, 3), 7u);
  // Beyond what a double holds.
  EXPECT_EQ(BudgetItems((uint64_t{1} << 62) - 1, (uint64_t{1} << 62) - 1,
                        uint64_t{1} << 62),
            (uint64_t{1} << 62) - 1);
}

// Frozen: they decide which data a run of a small budget sees.
TEST(BudgetSelectionTest, ItemsOfOrderVersion2) {
  ASSERT_OK_AND_ASSIGN(const Selection of_twenty, SelectByBudget(20, 1, 4, 0));
  EXPECT_THAT(ItemsOf(of_twenty), ElementsAre(2, 10, 14, 15, 17));
  ASSERT_OK_AND_ASSIGN(const Selection of_thousand,
                       SelectByBudget(1000, 6, 1000, 42));
  EXPECT_THAT(ItemsOf(of_thousand), ElementsAre(107, 172, 206, 261, 299, 859));
}

// docs/index-math.md 4, item by item.
TEST(BudgetSelectionTest, KeepsTheFirstPlacesOfAPermutation) {
  std::mt19937_64 random(testing::TestSeed(4));
  for (int round = 0; round < 200; ++round) {
    const uint64_t size = 1 + random() % 5000;
    const uint64_t target = 1 + random() % 1000;
    const uint64_t experiment = 1 + random() % target;
    const uint64_t seed = random();
    ASSERT_OK_AND_ASSIGN(const Selection kept,
                         SelectByBudget(size, experiment, target, seed));
    const Permutation permutation(size, KeyHash(seed).Add(Tag("budg")).key());
    std::set<uint64_t> expected;
    for (uint64_t place = 0; place * target < size * experiment; ++place) {
      expected.insert(permutation.Forward(place));
    }
    ASSERT_EQ(ItemsOf(kept),
              std::vector<uint64_t>(expected.begin(), expected.end()));
    ASSERT_EQ(kept.size(), size);
    // A larger share keeps them all.
    const uint64_t more = experiment + random() % (target - experiment + 1);
    ASSERT_OK_AND_ASSIGN(const Selection larger,
                         SelectByBudget(size, more, target, seed));
    for (const uint64_t item : expected) ASSERT_TRUE(larger.Contains(item));
  }
}

TEST(BudgetSelectionTest, OfASelectionItKeepsTheSameOrdinals) {
  ASSERT_OK_AND_ASSIGN(const Selection among, Selection::ByHash(2000, 0.3, 1));
  ASSERT_OK_AND_ASSIGN(const Selection kept, SelectByBudget(among, 1, 7, 9));
  ASSERT_OK_AND_ASSIGN(const Selection ordinals,
                       SelectByBudget(among.count(), 1, 7, 9));
  std::vector<uint64_t> expected;
  for (const uint64_t ordinal : ItemsOf(ordinals)) {
    expected.push_back(among.Select(ordinal));
  }
  EXPECT_EQ(ItemsOf(kept), expected);
  EXPECT_EQ(kept.size(), 2000u);
  ASSERT_OK_AND_ASSIGN(const Selection none, SelectByBudget(0, 1, 7, 9));
  EXPECT_EQ(none.count(), 0u);
}

}  // namespace
}  // namespace poniente::internal
