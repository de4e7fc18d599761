// SPDX-License-Identifier: Apache-2.0
#include "index/selection/omissions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "index/maps/omission_map.h"
#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

using ::testing::ElementsAre;

TEST(OmissionsTest, WhatIsKeptIsNumberedInItsOrder) {
  const Omissions omissions({7, 2, 3, 2}, 9);
  EXPECT_EQ(omissions.size(), 3u);
  EXPECT_EQ(omissions.kept(), 6u);
  std::vector<uint64_t> kept;
  for (uint64_t i = 0; i < omissions.kept(); ++i) {
    kept.push_back(omissions.Kept(i));
  }
  EXPECT_THAT(kept, ElementsAre(0, 1, 4, 5, 6, 8));
  EXPECT_THAT(omissions.Omitted(), ElementsAre(2, 3, 7));
  EXPECT_TRUE(omissions.Contains(3));
  EXPECT_FALSE(omissions.Contains(4));
  EXPECT_FALSE(omissions.Contains(9));
  EXPECT_EQ(omissions.NextFrom(4), 7u);
  EXPECT_EQ(omissions.NextFrom(8), 9u);
  EXPECT_EQ(omissions.CountBelow(9), 3u);
}

TEST(OmissionsTest, NothingOrEverythingMayBeLeftOut) {
  const Omissions none({}, 5);
  EXPECT_EQ(none.Kept(4), 4u);
  EXPECT_EQ(none.NextFrom(0), 5u);
  EXPECT_EQ(none.CountBelow(5), 0u);
  const Omissions all({0, 1, 2}, 3);
  EXPECT_EQ(all.kept(), 0u);
  EXPECT_EQ(all.CountBelow(2), 2u);
  const Omissions empty({}, 0);
  EXPECT_EQ(empty.kept(), 0u);
  EXPECT_EQ(empty.NextFrom(0), 0u);
}

TEST(OmissionsTest, OtherOmissionsHaveOtherFingerprints) {
  const uint64_t print = Omissions({1, 5}, 9).fingerprint();
  EXPECT_EQ(Omissions({5, 1, 5}, 9).fingerprint(), print);
  EXPECT_NE(Omissions({1, 6}, 9).fingerprint(), print);
  EXPECT_NE(Omissions({1, 5}, 10).fingerprint(), print);
}

// Spread evenly, in few runs, far apart and beyond what 32 bits hold.
TEST(OmissionsTest, AnswersAreThoseOfASortedList) {
  std::mt19937_64 random(testing::TestSeed(1));
  for (int number = 0; number < 300; ++number) {
    SCOPED_TRACE(number);
    const uint64_t length = 1 + (random() >> (1 + random() % 60));
    std::set<uint64_t> list;
    for (uint64_t left = random() % 400; left > 0;) {
      const uint64_t run = number % 3 == 0 ? 1 + random() % 50 : 1;
      const uint64_t at = random() % length;
      for (uint64_t i = 0; i < run && at + i < length; ++i) list.insert(at + i);
      left -= std::min(left, run);
    }
    const std::vector<uint64_t> sorted(list.begin(), list.end());
    const Omissions omissions(sorted, length);
    ASSERT_EQ(omissions.Omitted(), sorted);
    ASSERT_EQ(omissions.kept(), length - sorted.size());
    const auto check = [&](uint64_t index) {
      const auto at = std::lower_bound(sorted.begin(), sorted.end(), index);
      const auto below = static_cast<uint64_t>(at - sorted.begin());
      ASSERT_EQ(omissions.CountBelow(index), below);
      ASSERT_EQ(omissions.NextFrom(index), at == sorted.end() ? length : *at);
      const bool is_out = at != sorted.end() && *at == index;
      ASSERT_EQ(omissions.Contains(index), is_out);
      if (is_out) return;
      ASSERT_EQ(omissions.Kept(index - below), index);
    };
    for (int i = 0; i < 200; ++i) check(random() % length);
    for (const uint64_t index : sorted) {
      check(index);
      if (index + 1 < length) check(index + 1);
      if (index > 0) check(index - 1);
    }
    check(length - 1);
  }
}

TEST(OmissionsTest, AMillionTakeLittleMemory) {
  std::mt19937_64 random(2);
  for (const uint64_t length : {uint64_t{1} << 27, uint64_t{1} << 40}) {
    std::vector<uint64_t> omitted(1'000'000);
    for (uint64_t& index : omitted) index = random() % length;
    const Omissions omissions(std::move(omitted), length);
    EXPECT_LE(omissions.BytesHeld(), 5.5 * omissions.size());
  }
  EXPECT_LE(Omissions({5, uint64_t{1} << 62}, uint64_t{1} << 63).BytesHeld(),
            200u);
}

TEST(OmissionMapTest, MapsToTheItemsThatAreKeptAndBack) {
  const OmissionMap map(
      std::make_shared<const Omissions>(std::vector<uint64_t>{0, 3}, 6));
  EXPECT_EQ(map.length(), 4u);
  const std::vector<Position> positions = {
      {.index = 0, .epoch = 2}, {.index = 3}, {.index = 1, .part_begin = 4}};
  std::vector<ChildPosition> out(3);
  map.Resolve(positions, out);
  EXPECT_THAT(out,
              ElementsAre(ChildPosition{0, {.index = 1, .epoch = 2}},
                          ChildPosition{0, {.index = 5}},
                          ChildPosition{0, {.index = 2, .part_begin = 4}}));
  EXPECT_EQ(map.Find(0, {.index = 4, .epoch = 7}),
            (Position{.index = 2, .epoch = 7}));
  EXPECT_EQ(map.Find(0, {.index = 3}), std::nullopt);
  EXPECT_EQ(map.Find(0, {.index = 6}), std::nullopt);
  EXPECT_EQ(map.Find(1, {.index = 4}), std::nullopt);
}

}  // namespace
}  // namespace poniente::internal
