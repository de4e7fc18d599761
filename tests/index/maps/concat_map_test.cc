// SPDX-License-Identifier: Apache-2.0
#include "index/maps/concat_map.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "tests/index/map_laws.h"
#include "tests/support/status_matchers.h"

namespace poniente::internal {
namespace {

using ::poniente::testing::StatusIs;
using ::testing::HasSubstr;
using testing::Range;

TEST(ConcatMapTest, ChildrenFollowInTheOrderOfDeclaration) {
  const std::vector<uint64_t> lengths = {0, 3, 0, 0, 5, 1, 0};
  ASSERT_OK_AND_ASSIGN(const auto map, ConcatMap::Create(lengths));
  EXPECT_EQ(map->length(), 9u);
  std::vector<ChildPosition> expected;
  for (uint32_t child = 0; child < lengths.size(); ++child) {
    for (uint64_t i = 0; i < lengths[child]; ++i) {
      expected.push_back({child, {i, 6}});
    }
  }
  const auto positions = Range(0, 9, 6);
  const auto resolved = testing::Resolve(*map, positions);
  for (uint64_t i = 0; i < 9; ++i) {
    EXPECT_EQ(resolved[i].child, expected[i].child);
    EXPECT_EQ(resolved[i].position.index, expected[i].position.index);
    EXPECT_EQ(resolved[i].position.epoch, 6u);
  }
  testing::ExpectLaws(*map, positions);
}

TEST(ConcatMapTest, FindsOnlyWhatItHolds) {
  const std::vector<uint64_t> lengths = {0, 3};
  ASSERT_OK_AND_ASSIGN(const auto map, ConcatMap::Create(lengths));
  EXPECT_EQ(map->Find(0, {0, 0}), std::nullopt);
  EXPECT_EQ(map->Find(1, {3, 0}), std::nullopt);
  EXPECT_EQ(map->Find(2, {0, 0}), std::nullopt);
}

TEST(ConcatMapTest, MayHaveNoChildren) {
  ASSERT_OK_AND_ASSIGN(const auto map, ConcatMap::Create({}));
  EXPECT_EQ(map->length(), 0u);
}

TEST(ConcatMapTest, RefusesMoreThanTwoToTheSixtyThreeItems) {
  const uint64_t half = uint64_t{1} << 62;
  EXPECT_TRUE(ConcatMap::Create(std::vector<uint64_t>{half, half}).ok());
  EXPECT_THAT(ConcatMap::Create(std::vector<uint64_t>{half, half, 1}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("more than 2^63 items")));
}

TEST(ConcatMapDeathTest, RefusesIndicesPastTheEnd) {
  const std::vector<uint64_t> lengths = {0, 3};
  ASSERT_OK_AND_ASSIGN(const auto map, ConcatMap::Create(lengths));
  EXPECT_DEATH(testing::ResolveOne(*map, 3), "3 of 3");
}

}  // namespace
}  // namespace poniente::internal
