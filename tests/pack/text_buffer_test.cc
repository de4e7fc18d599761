// SPDX-License-Identifier: Apache-2.0
#include "pack/text_buffer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <utility>

#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

using testing::TestSeed;

TEST(TextBufferTest, HoldsWhatAStringHolds) {
  std::mt19937_64 random(TestSeed(71));
  for (int round = 0; round < 200; ++round) {
    TextBuffer buffer = round % 2 == 0 ? TextBuffer() : TextBuffer(50, 100);
    std::string expected;
    for (int step = 0; step < 50; ++step) {
      const std::string more(random() % 60, static_cast<char>('a' + step % 26));
      const size_t part = random() % (expected.size() + 1);
      switch (random() % 6) {
        case 0:
          buffer.Append(more);
          expected += more;
          break;
        case 1:
          std::memset(buffer.Extend(more.size() + 1), 'X', more.size() + 1);
          expected.append(more.size() + 1, 'X');
          break;
        case 2:
          if (buffer.Prepend(more)) expected.insert(0, more);
          break;
        case 3:
          buffer.Truncate(part);
          expected.resize(part);
          break;
        case 4:
          buffer.RemovePrefix(part);
          expected.erase(0, part);
          break;
        default:
          buffer = TextBuffer(std::move(buffer));
      }
      ASSERT_EQ(buffer.view(), expected);
      ASSERT_EQ(buffer.size(), expected.size());
    }
  }
}

TEST(TextBufferTest, TakesInFrontAsMuchAsThereIsRoom) {
  TextBuffer buffer(5, 10);
  buffer.Append("middle");
  EXPECT_FALSE(buffer.Prepend("longer"));
  EXPECT_TRUE(buffer.Prepend("front"));
  EXPECT_FALSE(buffer.Prepend("x"));
  EXPECT_EQ(buffer.view(), "frontmiddle");
  buffer.RemovePrefix(5);
  EXPECT_TRUE(buffer.Prepend("again"));
  EXPECT_EQ(buffer.view(), "againmiddle");
}

TEST(TextBufferTest, AMovedOneIsEmpty) {
  TextBuffer one;
  one.Append("text");
  TextBuffer other(std::move(one));
  EXPECT_TRUE(one.empty());
  EXPECT_EQ(one.view(), "");
  EXPECT_FALSE(one.Prepend("x"));
  one.Append("new");
  EXPECT_EQ(one.view(), "new");
  EXPECT_EQ(other.view(), "text");
}

}  // namespace
}  // namespace poniente::internal
