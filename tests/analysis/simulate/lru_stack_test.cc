// SPDX-License-Identifier: Apache-2.0
#include "analysis/simulate/lru_stack.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/analysis/lru_cache.h"
#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

using poniente::testing::LruCache;
using poniente::testing::TestSeed;

TEST(LruStackTest, CountsWhatWasUsedSince) {
  LruStack stack;
  EXPECT_EQ(stack.Use(0, 10), 0u);
  EXPECT_EQ(stack.Use(0, 10), 10u);
  EXPECT_EQ(stack.Use(1, 5), 0u);
  EXPECT_EQ(stack.Use(2, 1), 0u);
  EXPECT_EQ(stack.Use(1, 5), 6u);    // 1 and 2
  EXPECT_EQ(stack.Use(0, 10), 16u);  // all of them
  EXPECT_EQ(stack.Distance(0), 10u);
  EXPECT_EQ(stack.Distance(2), 16u);
  EXPECT_EQ(stack.objects(), 3u);
  EXPECT_EQ(stack.bytes(), 16u);
}

TEST(LruStackTest, AgreesWithCachesOfAllSizes) {
  std::mt19937_64 random(TestSeed(91));
  for (const uint32_t objects : {1u, 2u, 7u, 60u, 700u}) {
    std::vector<uint64_t> bytes(objects);
    for (uint64_t& size : bytes) size = 1 + random() % 100;
    std::vector<LruCache<uint32_t>> caches;
    std::vector<uint64_t> rooms;
    for (const uint64_t room : {0, 1, 99, 100, 500, 2000, 20000, 100000}) {
      caches.emplace_back(room);
      rooms.push_back(room);
    }
    LruStack stack;
    std::vector<uint32_t> number(objects, UINT32_MAX);
    for (int use = 0; use < 6000; ++use) {
      // Some are used often.
      const auto object = static_cast<uint32_t>(
          random() % (random() % 2 == 0 ? objects : objects / 8 + 1));
      const bool is_new = number[object] == UINT32_MAX;
      if (is_new) number[object] = stack.objects();
      const uint64_t distance = stack.Use(number[object], bytes[object]);
      ASSERT_EQ(distance == 0, is_new);
      for (size_t i = 0; i < caches.size(); ++i) {
        ASSERT_EQ(caches[i].Use(object, bytes[object]),
                  !is_new && distance <= rooms[i])
            << "use " << use << " of " << objects << ", room " << rooms[i];
      }
    }
  }
}

}  // namespace
}  // namespace poniente::internal
