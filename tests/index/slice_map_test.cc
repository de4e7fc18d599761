// SPDX-License-Identifier: Apache-2.0
#include "index/slice_map.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

#include "tests/index/map_laws.h"

namespace poniente::internal {
namespace {

using testing::Range;
using testing::ResolveOne;

TEST(SliceMapTest, ShiftsIndicesAndHandsTheEpochOn) {
  const SliceMap map(3, 10);
  EXPECT_EQ(map.length(), 7u);
  EXPECT_EQ(ResolveOne(map, 0, 5), (ChildPosition{0, {3, 5}}));
  EXPECT_EQ(ResolveOne(map, 6), (ChildPosition{0, {9, 0}}));
  testing::ExpectLaws(map, Range(0, 7, 2));
}

TEST(SliceMapTest, FindsOnlyWhatItHolds) {
  const SliceMap map(3, 10);
  EXPECT_EQ(map.Find(0, {2, 0}), std::nullopt);
  EXPECT_EQ(map.Find(0, {10, 0}), std::nullopt);
  EXPECT_EQ(map.Find(1, {5, 0}), std::nullopt);
}

TEST(SliceMapTest, MayBeEmpty) {
  const SliceMap map(3, 3);
  EXPECT_EQ(map.length(), 0u);
  EXPECT_EQ(map.Find(0, {3, 0}), std::nullopt);
}

TEST(EndlessSliceMapTest, CountsTheDrawsOfTheChildThrough) {
  const EndlessSliceMap map(3, 10);
  EXPECT_EQ(map.length(), 10u);
  EXPECT_EQ(ResolveOne(map, 0, 0), (ChildPosition{0, {3, 0}}));
  EXPECT_EQ(ResolveOne(map, 9, 0), (ChildPosition{0, {12, 0}}));
  EXPECT_EQ(ResolveOne(map, 0, 1), (ChildPosition{0, {13, 0}}));
  EXPECT_EQ(ResolveOne(map, 4, 7), (ChildPosition{0, {77, 0}}));
  EXPECT_EQ(map.Find(0, {77, 0}), (Position{4, 7}));
  EXPECT_EQ(map.Find(0, {2, 0}), std::nullopt);
  EXPECT_EQ(map.Find(1, {5, 0}), std::nullopt);
  testing::ExpectLaws(map, Range(0, 10, 2));
}

TEST(SliceMapDeathTest, RefusesIndicesPastTheEnd) {
  const SliceMap map(3, 10);
  EXPECT_DEATH(ResolveOne(map, 7), "check failed");
  EXPECT_DEATH(SliceMap(2, 1), "check failed");
}

}  // namespace
}  // namespace poniente::internal
