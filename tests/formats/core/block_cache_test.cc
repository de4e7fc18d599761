// SPDX-License-Identifier: Apache-2.0
#include "formats/core/block_cache.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

namespace poniente::internal {
namespace {

DecodedBlock BlockOf(size_t bytes) {
  return std::make_shared<const std::vector<std::byte>>(bytes);
}

TEST(BlockCacheTest, SourcesShareTheBudgetAndTheOldestBlocksGo) {
  BlockCache cache;
  cache.SetLimit(100);
  for (uint64_t source = 0; source < 4; ++source) {
    cache.Keep(source, 7, BlockOf(25));
  }
  EXPECT_EQ(cache.bytes(), 100u);
  EXPECT_NE(cache.Find(0, 7), nullptr);  // now the youngest
  cache.Keep(9, 7, BlockOf(30));
  EXPECT_EQ(cache.bytes(), 80u);
  EXPECT_NE(cache.Find(0, 7), nullptr);
  EXPECT_EQ(cache.Find(1, 7), nullptr);
  EXPECT_EQ(cache.Find(2, 7), nullptr);
  EXPECT_NE(cache.Find(3, 7), nullptr);
  EXPECT_EQ(cache.Find(3, 8), nullptr);
}

TEST(BlockCacheTest, TheLastBlockIsKeptWhateverItsSize) {
  BlockCache cache;
  cache.SetLimit(100);
  cache.Keep(0, 0, BlockOf(50));
  cache.Keep(1, 0, BlockOf(1000));
  EXPECT_EQ(cache.Find(0, 0), nullptr);
  const DecodedBlock large = cache.Find(1, 0);
  ASSERT_NE(large, nullptr);
  cache.Keep(1, 0, BlockOf(1000));  // there already
  EXPECT_EQ(cache.Find(1, 0), large);
  cache.Keep(0, 1, BlockOf(10));
  EXPECT_EQ(cache.bytes(), 10u);
  EXPECT_EQ(large->size(), 1000u);
}

TEST(BlockCacheTest, ASourceTakesItsBlocksAlong) {
  BlockCache cache;
  for (uint64_t block = 0; block < 5; ++block) {
    cache.Keep(0, block, BlockOf(10));
    cache.Keep(1, block, BlockOf(20));
  }
  cache.Drop(0);
  EXPECT_EQ(cache.bytes(), 100u);
  EXPECT_EQ(cache.Find(0, 3), nullptr);
  EXPECT_NE(cache.Find(1, 3), nullptr);
  const uint64_t before = BlockCache::OfProcess().bytes();
  {
    std::optional<CachedBlocks> one(std::in_place);
    const CachedBlocks other;
    one->Keep(5, BlockOf(10));
    other.Keep(5, BlockOf(30));
    EXPECT_EQ(one->Find(5)->size(), 10u);
    EXPECT_EQ(other.Find(5)->size(), 30u);
    EXPECT_EQ(BlockCache::OfProcess().bytes(), before + 40);
    one.reset();
    EXPECT_EQ(BlockCache::OfProcess().bytes(), before + 30);
  }
  EXPECT_EQ(BlockCache::OfProcess().bytes(), before);
}

}  // namespace
}  // namespace poniente::internal
