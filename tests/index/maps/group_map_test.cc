// SPDX-License-Identifier: Apache-2.0
#include "index/maps/group_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "tests/index/map_laws.h"

namespace poniente::internal {
namespace {

using ::testing::ElementsAre;
using testing::Range;

std::vector<uint64_t> ChildIndices(const IndexMap& map, uint64_t length) {
  std::vector<uint64_t> indices;
  for (const ChildPosition& one : testing::Resolve(map, Range(0, length, 5))) {
    EXPECT_EQ(one.child, 0u);
    EXPECT_EQ(one.position.epoch, 5u);
    indices.push_back(one.position.index);
  }
  return indices;
}

std::vector<uint64_t> Reading(const IndexMap& map, uint64_t item) {
  std::vector<FoundPart> found;
  map.FindParts(0, {.index = item, .epoch = 1}, &found);
  std::vector<uint64_t> indices;
  for (const FoundPart& part : found) {
    EXPECT_EQ(part.position.epoch, 1u);
    EXPECT_EQ(part.part_length, kWholeItem);
    indices.push_back(part.position.index);
  }
  return indices;
}

TEST(GroupMapTest, WithAsManyItemsEachResolvesToItsOwn) {
  const GroupMap map(10, 4, 0);
  EXPECT_EQ(map.length(), 10u);
  EXPECT_THAT(ChildIndices(map, 10), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  testing::ExpectLaws(map, Range(0, 10, 5));
  EXPECT_THAT(Reading(map, 5), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(Reading(map, 9), ElementsAre(8, 9));
  EXPECT_THAT(Reading(map, 10), ElementsAre());
}

TEST(GroupMapTest, FewerItemsResolveToSomeOfTheGroup) {
  const GroupMap map(10, 4, 2);
  EXPECT_EQ(map.length(), 6u);
  EXPECT_THAT(ChildIndices(map, 6), ElementsAre(0, 2, 4, 6, 8, 9));
  testing::ExpectLaws(map, Range(0, 4, 5));
  EXPECT_EQ(map.Find(0, {.index = 1}), std::nullopt);
  EXPECT_THAT(Reading(map, 1), ElementsAre(0, 1));
  EXPECT_THAT(Reading(map, 9), ElementsAre(4, 5));
}

TEST(GroupMapTest, MoreItemsResolveToTheSame) {
  const GroupMap map(3, 2, 5);
  EXPECT_EQ(map.length(), 10u);
  EXPECT_THAT(ChildIndices(map, 10), ElementsAre(0, 0, 0, 1, 1, 2, 2, 2, 2, 2));
  EXPECT_EQ(map.Find(0, {.index = 1})->index, 3u);
  EXPECT_THAT(Reading(map, 0), ElementsAre(0, 1, 2, 3, 4));
}

TEST(GroupMapTest, TheSpanBelowHasWholeGroups) {
  const GroupMap map(10, 4, 2);
  const IndexSpan span = {{.index = 1, .epoch = 1}, {.index = 2, .epoch = 1}};
  const IndexSpan expected = {{.index = 0, .epoch = 1},
                              {.index = 7, .epoch = 1}};
  EXPECT_EQ(map.SpanBelow(0, span), expected);
  const IndexSpan end = {{.index = 5}, {.index = UINT64_MAX}};
  const IndexSpan short_group = {{.index = 8}, {.index = 9}};
  EXPECT_EQ(map.SpanBelow(0, end), short_group);
  EXPECT_EQ(GroupMap(0, 4, 2).SpanBelow(0, span), std::nullopt);
}

TEST(GroupMapTest, MayBeEndless) {
  const GroupMap map(std::nullopt, 4, 1);
  EXPECT_EQ(map.length(), std::nullopt);
  EXPECT_EQ(testing::ResolveOne(map, 1000).position.index, 4000u);
  EXPECT_EQ(map.Find(0, {.index = 4000})->index, 1000u);
}

}  // namespace
}  // namespace poniente::internal
