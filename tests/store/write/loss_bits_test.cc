// SPDX-License-Identifier: Apache-2.0
#include "store/write/loss_bits.h"

#include <gtest/gtest.h>

#include <random>
#include <span>
#include <vector>

#include "tests/support/test_seed.h"
#include "util/bits.h"

namespace poniente::internal {
namespace {

std::vector<uint8_t> Unpacked(const LossBits& bits) {
  std::vector<uint8_t> all(bits.size());
  UnpackBits(std::as_bytes(bits.bytes()).data(), 0, all);
  return all;
}

// Runs and single bits at any place in a byte, against a list of bools.
TEST(LossBitsTest, HoldsWhatWasAppended) {
  std::mt19937_64 random(testing::TestSeed(401));
  for (int turn = 0; turn < 200; ++turn) {
    LossBits bits;
    std::vector<uint8_t> expected;
    for (int call = 0; call < 12; ++call) {
      const uint64_t count = random() % 21;
      const bool value = random() % 2 == 0;
      if (random() % 2 == 0) {
        bits.Append(count, value);
        expected.insert(expected.end(), count, value ? 1 : 0);
        continue;
      }
      std::vector<uint8_t> some;
      for (uint64_t i = 0; i < count; ++i) {
        some.push_back(static_cast<uint8_t>(random() % 3));
        expected.push_back(some.back() != 0 ? 1 : 0);
      }
      bits.Append(some);
    }
    ASSERT_EQ(Unpacked(bits), expected);
    ASSERT_EQ(bits.bytes().size(), (expected.size() + 7) / 8);
    if (expected.empty()) continue;
    ASSERT_EQ(bits.back(), expected.back() != 0);
    const uint64_t unused = 8 * bits.bytes().size() - bits.size();
    ASSERT_EQ(unused == 0 ? 0 : bits.bytes().back() >> (8 - unused), 0);
  }
}

TEST(LossBitsTest, FillsWithOnes) {
  LossBits bits;
  bits.Append(3, false);
  bits.FillTo(3);
  bits.FillTo(10);
  EXPECT_EQ(Unpacked(bits),
            (std::vector<uint8_t>{0, 0, 0, 1, 1, 1, 1, 1, 1, 1}));
  bits.Clear();
  EXPECT_EQ(bits.size(), 0u);
  EXPECT_TRUE(bits.bytes().empty());
}

}  // namespace
}  // namespace poniente::internal
