// SPDX-License-Identifier: Apache-2.0
#include "index/maps/shuffle_map.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "index/keyed_hash.h"
#include "tests/index/map_laws.h"
#include "tests/index/order_specs.h"

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

const OrderSpec kEras = Eras(64);
const OrderSpec kBlocks = Blocks(16, 4);

class ShuffleKindsTest : public ::testing::TestWithParam<OrderSpec> {};

TEST_P(ShuffleKindsTest, KeepsTheLawsAcrossEpochs) {
  const ShuffleMap map(1000, 3, GetParam());
  auto positions = Range(0, 1000, 0);
  for (const Position& position : Range(0, 700, 9))
    positions.push_back(position);
  testing::ExpectLaws(map, positions);
}

TEST_P(ShuffleKindsTest, FindsOnlyWhatItHolds) {
  const ShuffleMap map(1000, 3, GetParam());
  EXPECT_EQ(map.Find(0, {1000, 0}), std::nullopt);
  EXPECT_EQ(map.Find(1, {0, 0}), std::nullopt);
}

TEST_P(ShuffleKindsTest, MayBeEmpty) {
  EXPECT_TRUE(testing::Resolve(ShuffleMap(0, 3, GetParam()), {}).empty());
}

INSTANTIATE_TEST_SUITE_P(Kinds, ShuffleKindsTest,
                         ::testing::Values(Stored(), Full(), kEras, kBlocks));

TEST(ShuffleMapTest, EpochsOfErasAndBlocksHaveOrdersOfTheirOwn) {
  for (const OrderSpec& spec : {kEras, kBlocks}) {
    const ShuffleMap map(1000, 3, spec);
    for (uint64_t epoch = 0; epoch < 3; ++epoch) {
      const ItemOrder order(1000, Derive(3, Tag("shuf"), epoch), spec);
      for (uint64_t i = 0; i < 1000; ++i) {
        ASSERT_EQ(ResolveOne(map, i, epoch),
                  (ChildPosition{0, {order.Forward(i), epoch}}));
      }
    }
  }
}

TEST(ShuffleMapTest, AnEndlessOneIsAllErasToTheLastIndex) {
  constexpr uint64_t kEnd = uint64_t{1} << 62;
  const ShuffleMap map(std::nullopt, 3, kEras);
  EXPECT_EQ(map.length(), std::nullopt);
  const ShuffleMap finite(1000, 3, kEras);
  for (uint64_t i = 0; i < 960; ++i) {
    ASSERT_EQ(ResolveOne(map, i), ResolveOne(finite, i));
  }
  testing::ExpectLaws(map, Range(kEnd - 500, kEnd));
  EXPECT_EQ(map.Find(0, {kEnd, 0}), std::nullopt);
}

TEST(ShuffleMapTest, OnlyErasCanBeEndless) {
  EXPECT_DEATH(ShuffleMap(std::nullopt, 3, kBlocks), "check failed");
  EXPECT_DEATH(ShuffleMap(std::nullopt, 3), "check failed");
}

}  // namespace
}  // namespace poniente::internal
