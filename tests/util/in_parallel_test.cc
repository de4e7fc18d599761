// SPDX-License-Identifier: Apache-2.0
#include "util/in_parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <new>
#include <stdexcept>
#include <vector>

namespace poniente::internal {
namespace {

TEST(InParallelTest, EachNumberIsCalledOnce) {
  for (const size_t count : {0, 1, 2, 17, 255, 256, 5000, 100'003}) {
    std::vector<std::atomic<int>> calls(count);
    InParallel(count, [&calls](size_t i) { ++calls[i]; });
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(calls[i], 1) << i;
  }
}

// On whichever thread: it comes out here, when no call is under way any more.
TEST(InParallelTest, WhatACallThrowsIsThrownToTheCaller) {
  for (const size_t count : {1, 2, 1000}) {
    for (const size_t thrower : {size_t{0}, count / 2, count - 1}) {
      std::atomic<int> under_way = 0;
      const auto each = [&](size_t i) {
        ++under_way;
        --under_way;
        if (i == thrower) throw std::runtime_error("one of them");
      };
      EXPECT_THROW(InParallel(count, each), std::runtime_error);
      EXPECT_EQ(under_way, 0);
    }
  }
}

TEST(InParallelTest, WhenAllThrowOneIsThrown) {
  const auto each = [](size_t) { throw std::bad_alloc(); };
  for (int i = 0; i < 100; ++i) {
    EXPECT_THROW(InParallel(1000, each), std::bad_alloc);
  }
}

}  // namespace
}  // namespace poniente::internal
