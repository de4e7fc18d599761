// SPDX-License-Identifier: Apache-2.0
#include "util/usable_cores.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/support/one_core.h"

namespace poniente::internal {
namespace {

TEST(UsableCoresTest, AreThoseThatAreLeftToTheThread) {
  const unsigned all = UsableCores();
  EXPECT_GE(all, 1u);
  EXPECT_LE(all, std::thread::hardware_concurrency());
  {
    const testing::OneCore bound;
    EXPECT_EQ(UsableCores(), 1u);
    unsigned others = 0;
    std::thread([&others] { others = UsableCores(); }).join();
    EXPECT_EQ(others, 1u) << "a thread that it starts";
  }
  EXPECT_EQ(UsableCores(), all);
}

}  // namespace
}  // namespace poniente::internal
