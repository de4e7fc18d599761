// SPDX-License-Identifier: Apache-2.0
#include "index/maps/interleave_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "tests/index/map_laws.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

using ::poniente::testing::StatusIs;
using ::testing::HasSubstr;
using testing::Range;
using Lengths = std::vector<std::optional<uint64_t>>;
using Item = std::pair<uint32_t, uint64_t>;  // child, index

// Goes round and round, and takes a block of each child, as long as there are
// items, up to `most`.
std::vector<Item> SlowInterleave(const Lengths& lengths, uint64_t block,
                                 uint64_t most) {
  std::vector<Item> items;
  for (uint64_t begin = 0; items.size() < most; begin += block) {
    const size_t before = items.size();
    for (uint32_t child = 0; child < lengths.size(); ++child) {
      for (uint64_t i = begin; i < begin + block; ++i) {
        if (i < lengths[child].value_or(UINT64_MAX))
          items.push_back({child, i});
      }
    }
    if (items.size() == before) break;  // all have ended
  }
  items.resize(std::min<size_t>(items.size(), most));
  return items;
}

void ExpectItems(const InterleaveMap& map, const std::vector<Item>& items) {
  const auto positions = Range(0, items.size(), 3);
  const auto resolved = testing::Resolve(map, positions);
  for (size_t i = 0; i < items.size(); ++i) {
    ASSERT_EQ(resolved[i].child, items[i].first) << i;
    ASSERT_EQ(resolved[i].position.index, items[i].second) << i;
    ASSERT_EQ(resolved[i].position.epoch, 3u);
  }
  testing::ExpectLaws(map, positions);
}

TEST(InterleaveMapTest, IsWhatGoingRoundAndRoundGives) {
  std::mt19937_64 random(testing::TestSeed(1));
  for (int trial = 0; trial < 300; ++trial) {
    Lengths lengths(random() % 7);
    for (auto& length : lengths) length = random() % 40;
    const uint64_t block = 1 + random() % 9;
    ASSERT_OK_AND_ASSIGN(const auto map, InterleaveMap::Create(lengths, block));
    const auto items = SlowInterleave(lengths, block, UINT64_MAX);
    ASSERT_EQ(map->length(), items.size()) << "trial " << trial;
    ExpectItems(*map, items);
  }
}

TEST(InterleaveMapTest, AnEndlessChildGoesOnAfterTheOthers) {
  const Lengths lengths = {5, std::nullopt, 12};
  ASSERT_OK_AND_ASSIGN(const auto map, InterleaveMap::Create(lengths, 4));
  EXPECT_EQ(map->length(), std::nullopt);
  ExpectItems(*map, SlowInterleave(lengths, 4, 200));
  const ChildPosition far = testing::ResolveOne(*map, (uint64_t{1} << 62) - 1);
  EXPECT_EQ(far.child, 1u);
  EXPECT_EQ(far.position.index, (uint64_t{1} << 62) - 1 - 17);
}

TEST(InterleaveMapTest, HasOnlyTheRoundsThatCanBeRead) {
  const Lengths lengths = {10, 7, 20};
  for (uint64_t rounds = 0; rounds < 9; ++rounds) {
    ASSERT_OK_AND_ASSIGN(const auto map,
                         InterleaveMap::Create(lengths, 3, rounds));
    uint64_t items = 0;
    for (const auto& length : lengths) {
      items += std::min<uint64_t>(*length, 3 * rounds);
    }
    EXPECT_EQ(map->length(), items);
    ExpectItems(*map, SlowInterleave(lengths, 3, items));
    EXPECT_EQ(map->Find(2, {.index = 3 * rounds}), std::nullopt);
  }
}

TEST(InterleaveMapTest, FindsOnlyWhatItHolds) {
  ASSERT_OK_AND_ASSIGN(const auto map, InterleaveMap::Create(Lengths{0, 3}, 2));
  EXPECT_EQ(map->Find(0, {.index = 0}), std::nullopt);
  EXPECT_EQ(map->Find(1, {.index = 3}), std::nullopt);
  EXPECT_EQ(map->Find(2, {.index = 0}), std::nullopt);
}

// Everything that the positions resolve to lies in the span, and its ends are
// not further away than a block.
TEST(InterleaveMapTest, TheSpanOfAChildHoldsWhatIsRead) {
  const Lengths lengths = {10, 3, 0, 17};
  ASSERT_OK_AND_ASSIGN(const auto map, InterleaveMap::Create(lengths, 4));
  for (uint64_t first = 0; first < 30; ++first) {
    for (uint64_t last = first; last < 30; ++last) {
      const IndexSpan span = {{.index = first, .epoch = 2},
                              {.index = last, .epoch = 2}};
      const auto all = testing::Resolve(*map, Range(first, last + 1, 2));
      for (uint32_t child = 0; child < lengths.size(); ++child) {
        uint64_t least = UINT64_MAX, most = 0;
        for (const ChildPosition& one : all) {
          if (one.child != child) continue;
          least = std::min(least, one.position.index);
          most = std::max(most, one.position.index);
        }
        const auto below = map->SpanBelow(child, span);
        if (least == UINT64_MAX) continue;
        ASSERT_TRUE(below.has_value()) << first << ' ' << last;
        EXPECT_LE(below->first.index, least);
        EXPECT_GE(below->first.index + 4, least);
        EXPECT_GE(below->last.index, most);
        EXPECT_LE(below->last.index, most + 4);
        EXPECT_EQ(below->first.epoch, 2u);
        EXPECT_EQ(below->last.epoch, 2u);
      }
      EXPECT_EQ(map->SpanBelow(2, span), std::nullopt);
    }
  }
}

TEST(InterleaveMapTest, RefusesBlocksAndLengthsThatDoNotFit) {
  EXPECT_THAT(InterleaveMap::Create(Lengths{1, 2}, 0),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("from 1 to 2^32, got 0")));
  EXPECT_THAT(InterleaveMap::Create(Lengths{1, 2}, (uint64_t{1} << 32) + 1),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_));
  const uint64_t half = uint64_t{1} << 62;
  EXPECT_TRUE(InterleaveMap::Create(Lengths{half, half}, 1).ok());
  EXPECT_THAT(InterleaveMap::Create(Lengths{half, half, 1}, 1),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("more than 2^63 items")));
}

TEST(InterleaveMapDeathTest, RefusesIndicesPastTheEnd) {
  ASSERT_OK_AND_ASSIGN(const auto map, InterleaveMap::Create(Lengths{1, 2}, 1));
  EXPECT_DEATH(testing::ResolveOne(*map, 3), "3 of 3");
}

}  // namespace
}  // namespace poniente::internal
