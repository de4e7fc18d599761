// SPDX-License-Identifier: Apache-2.0
#include "util/bits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

TEST(UnpackBitsTest, AreThoseOfAPlainLoop) {
  std::mt19937_64 random(testing::TestSeed(1));
  std::vector<std::byte> bytes(40);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  for (uint64_t first = 0; first < 20; ++first) {
    for (size_t count = 0; count + first <= 8 * bytes.size(); ++count) {
      std::vector<uint8_t> expected(count);
      for (size_t i = 0; i < count; ++i) {
        const auto byte = std::to_integer<unsigned>(bytes[(first + i) / 8]);
        expected[i] = byte >> ((first + i) % 8) & 1;
      }
      std::vector<uint8_t> got(count, 7);
      UnpackBits(bytes.data(), first, got);
      ASSERT_EQ(got, expected) << first << ' ' << count;
    }
  }
}

}  // namespace
}  // namespace poniente::internal
