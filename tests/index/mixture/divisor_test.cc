// SPDX-License-Identifier: Apache-2.0
#include "index/mixture/divisor.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

void ExpectDivides(uint64_t number, uint64_t divisor) {
  uint64_t remainder = number;
  EXPECT_EQ(Divisor(divisor).Divide(&remainder), number / divisor)
      << number << " / " << divisor;
  EXPECT_EQ(remainder, number % divisor) << number << " / " << divisor;
  if (number >> 32 != 0) return;
  remainder = number;
  EXPECT_EQ(Divisor(divisor).DivideShort(&remainder), number / divisor)
      << number << " / " << divisor;
  EXPECT_EQ(remainder, number % divisor) << number << " / " << divisor;
}

TEST(DivisorTest, DividesLikeTheProcessor) {
  std::mt19937_64 random(testing::TestSeed(35));
  for (int i = 0; i < 200000; ++i) {
    const uint64_t divisor = (random() >> random() % 64) | 1;
    const uint64_t number = random() >> random() % 64;
    ExpectDivides(number, divisor);
    // Around a multiple, where an estimate is most easily wrong.
    const uint64_t multiple = number - number % divisor;
    ExpectDivides(multiple, divisor);
    ExpectDivides(multiple - 1, divisor);
    ExpectDivides(multiple + divisor - 1, divisor);
  }
}

TEST(DivisorTest, TakesTheEndsOfItsRange) {
  std::vector<uint64_t> ends = {0, 1, 2, 3};
  for (int bit = 2; bit < 64; ++bit) {
    for (const uint64_t near : {-1, 0, 1}) {
      ends.push_back((uint64_t{1} << bit) + near);
    }
  }
  ends.push_back(UINT64_MAX - 1);
  ends.push_back(UINT64_MAX);
  for (const uint64_t divisor : ends) {
    if (divisor == 0) continue;
    EXPECT_EQ(Divisor(divisor).value(), divisor);
    for (const uint64_t number : ends) ExpectDivides(number, divisor);
  }
}

}  // namespace
}  // namespace poniente::internal
