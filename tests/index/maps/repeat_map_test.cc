// SPDX-License-Identifier: Apache-2.0
#include "index/maps/repeat_map.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

#include "tests/index/map_laws.h"
#include "tests/support/status_matchers.h"

namespace poniente::internal {
namespace {

using ::poniente::testing::StatusIs;
using ::testing::HasSubstr;
using testing::Range;
using testing::ResolveOne;

TEST(RepeatMapTest, EachPassIsAnEpochOfTheChild) {
  ASSERT_OK_AND_ASSIGN(const auto map, RepeatMap::Create(10, 3));
  EXPECT_EQ(map->length(), 30u);
  EXPECT_EQ(ResolveOne(*map, 9), (ChildPosition{0, {9, 0}}));
  EXPECT_EQ(ResolveOne(*map, 10), (ChildPosition{0, {0, 1}}));
  EXPECT_EQ(ResolveOne(*map, 29), (ChildPosition{0, {9, 2}}));
  testing::ExpectLaws(*map, Range(0, 30));
}

TEST(RepeatMapTest, EpochsOfItsOwnGoOnWhereTheLastEnded) {
  ASSERT_OK_AND_ASSIGN(const auto map, RepeatMap::Create(10, 3));
  EXPECT_EQ(ResolveOne(*map, 0, 1), (ChildPosition{0, {0, 3}}));
  EXPECT_EQ(ResolveOne(*map, 15, 4), (ChildPosition{0, {5, 13}}));
  testing::ExpectLaws(*map, Range(0, 30, 4));
}

TEST(RepeatMapTest, WithoutTimesHasNoEnd) {
  ASSERT_OK_AND_ASSIGN(const auto map, RepeatMap::Create(10, std::nullopt));
  EXPECT_EQ(map->length(), std::nullopt);
  EXPECT_EQ(ResolveOne(*map, 1000000000007),
            (ChildPosition{0, {7, 100000000000}}));
  const uint64_t last = (uint64_t{1} << 62) - 1;
  testing::ExpectLaws(*map, {{0}, {9}, {10}, {last}});
  EXPECT_EQ(map->Find(0, {0, uint64_t{1} << 62}), std::nullopt);
  EXPECT_EQ(map->Find(0, {0, UINT64_MAX}), std::nullopt);
}

TEST(RepeatMapTest, FindsOnlyItemsOfTheChild) {
  ASSERT_OK_AND_ASSIGN(const auto map, RepeatMap::Create(10, 3));
  EXPECT_EQ(map->Find(0, {10, 0}), std::nullopt);
  EXPECT_EQ(map->Find(1, {1, 0}), std::nullopt);
}

TEST(RepeatMapTest, MayBeEmptyIfFinite) {
  ASSERT_OK_AND_ASSIGN(const auto never, RepeatMap::Create(10, 0));
  EXPECT_EQ(never->length(), 0u);
  EXPECT_EQ(never->Find(0, {0, 0}), std::nullopt);
  ASSERT_OK_AND_ASSIGN(const auto nothing, RepeatMap::Create(0, 10));
  EXPECT_EQ(nothing->length(), 0u);
}

TEST(RepeatMapTest, RefusesWhatCannotBe) {
  EXPECT_THAT(
      RepeatMap::Create(0, std::nullopt),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("empty dataset")));
  EXPECT_THAT(RepeatMap::Create(uint64_t{1} << 40, uint64_t{1} << 24),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("more than 2^63")));
}

TEST(RepeatMapTest, HowOftenCountsOnceTheEndIsReached) {
  ASSERT_OK_AND_ASSIGN(const auto thrice, RepeatMap::Create(10, 3));
  ASSERT_OK_AND_ASSIGN(const auto endless, RepeatMap::Create(10, std::nullopt));
  EXPECT_EQ(thrice->PrefixParameters({{.index = 0}, {.index = 29}}), 0u);
  EXPECT_NE(thrice->PrefixParameters({{.index = 0}, {.index = 30}}), 0u);
  EXPECT_NE(thrice->PrefixParameters({{.index = 0}, {0, 1}}), 0u);
  EXPECT_EQ(endless->PrefixParameters({{.index = 0}, {.index = 999}}), 0u);
}

}  // namespace
}  // namespace poniente::internal
