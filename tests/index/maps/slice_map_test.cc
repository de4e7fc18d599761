// SPDX-License-Identifier: Apache-2.0
#include "index/maps/slice_map.h"

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

IndexSpan SpanTo(uint64_t index, uint64_t epoch = 0) {
  return {{.index = 0}, {.index = index, .epoch = epoch}};
}

TEST(SliceMapTest, ReadsNothingOfTheChildBehindTheSpan) {
  const SliceMap map(3, 13);
  EXPECT_EQ(map.SpanBelow(0, SpanTo(4)), (IndexSpan{{.index = 3}, {7}}));
  EXPECT_EQ(map.SpanBelow(0, SpanTo(UINT64_MAX, 2)),
            (IndexSpan{{.index = 3}, {12, 2}}));
  EXPECT_EQ(SliceMap(3, 3).SpanBelow(0, SpanTo(UINT64_MAX)), std::nullopt);
}

template <class Map>
void ExpectTheEndCountsOnceItIsReached(const Map& ten, const Map& twenty) {
  EXPECT_EQ(ten.PrefixParameters(SpanTo(9)),
            twenty.PrefixParameters(SpanTo(9)));
  EXPECT_NE(ten.PrefixParameters(SpanTo(10)),
            twenty.PrefixParameters(SpanTo(10)));
  EXPECT_NE(ten.PrefixParameters(SpanTo(0, 1)),
            twenty.PrefixParameters(SpanTo(0, 1)));
}

TEST(SliceMapTest, TheEndCountsOnceItIsReached) {
  ExpectTheEndCountsOnceItIsReached(SliceMap(3, 13), SliceMap(3, 23));
  ExpectTheEndCountsOnceItIsReached(EndlessSliceMap(3, 10),
                                    EndlessSliceMap(3, 20));
  EXPECT_NE(SliceMap(3, 13).PrefixParameters(SpanTo(4)),
            SliceMap(2, 13).PrefixParameters(SpanTo(4)));
  EXPECT_EQ(SliceMap(0, 10).PrefixParameters(SpanTo(4)), 0u);
}

}  // namespace
}  // namespace poniente::internal
