// SPDX-License-Identifier: Apache-2.0
#include "index/shuffle_map.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "index/keyed_hash.h"
#include "tests/index/map_laws.h"

namespace poniente::internal {
namespace {

using testing::Range;
using testing::ResolveOne;

// A list shuffled by Fisher and Yates, for lengths of up to 64.
std::vector<uint64_t> ShuffledList(uint64_t length, uint64_t key) {
  std::vector<uint64_t> list(length);
  for (uint64_t i = 0; i < length; ++i) list[i] = i;
  KeyStream stream(key);
  for (uint64_t i = length; i >= 2; --i) {
    std::swap(list[i - 1], list[stream.Bounded(i)]);
  }
  return list;
}

TEST(ShuffleMapTest, ShufflesEachEpochLikeAList) {
  const ShuffleMap map(50, /*seed=*/42);
  EXPECT_EQ(map.length(), 50u);
  for (uint64_t epoch = 0; epoch < 3; ++epoch) {
    const auto list = ShuffledList(50, Derive(42, Tag("shuf"), epoch));
    for (uint64_t i = 0; i < 50; ++i) {
      EXPECT_EQ(ResolveOne(map, i, epoch),
                (ChildPosition{0, {list[i], epoch}}));
    }
  }
}

TEST(ShuffleMapTest, EpochsAndSeedsHaveUnrelatedOrders) {
  const ShuffleMap map(100000, 1);
  const ShuffleMap other(100000, 2);
  int equal = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    equal += ResolveOne(map, i, 1).position.index ==
             ResolveOne(other, i, 0).position.index;
    equal += ResolveOne(map, i, 1).position.index ==
             ResolveOne(map, i, 0).position.index;
  }
  EXPECT_LT(equal, 3);
}

TEST(ShuffleMapTest, KeepsTheLawsAcrossEpochs) {
  const ShuffleMap map(1000, 3);
  auto positions = Range(0, 1000, 0);
  for (const Position& position : Range(0, 700, 9))
    positions.push_back(position);
  testing::ExpectLaws(map, positions);
}

TEST(ShuffleMapTest, FindsOnlyWhatItHolds) {
  const ShuffleMap map(1000, 3);
  EXPECT_EQ(map.Find(0, {1000, 0}), std::nullopt);
  EXPECT_EQ(map.Find(1, {0, 0}), std::nullopt);
}

TEST(ShuffleMapTest, MayBeEmpty) {
  const ShuffleMap map(0, 3);
  EXPECT_EQ(map.length(), 0u);
  EXPECT_TRUE(testing::Resolve(map, {}).empty());
}

}  // namespace
}  // namespace poniente::internal
