// SPDX-License-Identifier: Apache-2.0
#include "index/mixture/powers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

// Literals from the definition of order version 1.
TEST(PowersTest, ValuesOfOrderVersion1) {
  EXPECT_EQ(FixedLog2(10), 935039633142894);
  EXPECT_EQ(FixedLog2(0.1), -935039633142895);
  EXPECT_EQ(FixedExp2(-(Int128{1} << 47)), 3260954456333195553u);
  EXPECT_EQ(FixedExp2(-1), 4611686018427376481u);
}

TEST(PowersTest, PowersOfTwoAreExact) {
  for (int e = -1074; e < 1024; ++e) {
    EXPECT_EQ(FixedLog2(std::ldexp(1.0, e)), int64_t{e} * (int64_t{1} << 48));
  }
  for (int e = 0; e <= 62; ++e) {
    EXPECT_EQ(FixedExp2(-(Int128{e} << 48)), uint64_t{1} << (62 - e));
  }
  EXPECT_EQ(FixedExp2(-(Int128{63} << 48)), 0u);
  EXPECT_EQ(FixedExp2(-(Int128{1} << 100)), 0u);
}

TEST(PowersTest, AgreeWithTheMathematicalLibrary) {
  std::mt19937_64 random(testing::TestSeed(5));
  std::uniform_real_distribution<double> exponent(-60, 60);
  for (int i = 0; i < 10000; ++i) {
    const double x = std::exp2(exponent(random));
    EXPECT_NEAR(static_cast<double>(FixedLog2(x)), std::log2(x) * 0x1p48, 2);
    const double z = -std::abs(exponent(random));
    const auto power = static_cast<double>(
        FixedExp2(static_cast<Int128>(std::floor(z * 0x1p48))));
    const double expected = std::exp2(z + 62);
    EXPECT_NEAR(power, expected, 2 + expected * 0x1p-45) << z;
  }
}

TEST(PowersTest, TakeTheEndsOfTheirRange) {
  EXPECT_EQ(FixedLog2(std::numeric_limits<double>::denorm_min()),
            -1074 * (int64_t{1} << 48));
  EXPECT_LT(FixedLog2(std::numeric_limits<double>::max()),
            1024 * (int64_t{1} << 48));
  EXPECT_EQ(FixedExp2(0), uint64_t{1} << 62);
}

TEST(PowersDeathTest, RefuseWhatTheyAreNotDefinedFor) {
  EXPECT_DEATH(FixedLog2(0), "0");
  EXPECT_DEATH(FixedLog2(std::nan("")), "nan");
  EXPECT_DEATH(FixedExp2(1), "positive");
}

}  // namespace
}  // namespace poniente::internal
