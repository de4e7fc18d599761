// SPDX-License-Identifier: Apache-2.0
#include "io/mmap/fault_watch.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

namespace poniente::internal {
namespace {

using std::chrono::microseconds;

class FaultWatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    faults_ = 0;
    asked_ = 0;
  }
  static uint64_t Count() {
    ++asked_;
    return faults_;
  }
  // The faults that the watch sees in a batch of one group of copies, in which
  // the thread met `faults`.
  uint64_t Batch(uint64_t bytes, microseconds took, uint64_t faults) {
    const uint64_t before = watch_.Begin(now_);
    const auto began = now_;
    now_ += took;
    faults_ += faults;
    return watch_.After(bytes, began, now_) - before;
  }

  static inline uint64_t faults_ = 0;  // of the thread
  static inline uint64_t asked_ = 0;
  FaultWatch watch_{Count};
  FaultWatch::Time now_ = FaultWatch::Time() + std::chrono::hours(1);
};

TEST_F(FaultWatchTest, SmallBatchesFromMemorySeldomAskTheKernel) {
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(Batch(8192, microseconds(2), 0), 0u);
    now_ += microseconds(8);  // what else a batch costs
  }
  EXPECT_LE(asked_, 1000u / 20 + 1);
  EXPECT_GT(asked_, 1000u / 40);
}

TEST_F(FaultWatchTest, BatchesThatWaitedForADiskAreCountedExactly) {
  for (uint64_t i = 0; i < 100; ++i) {
    // The thread has met others, long before.
    faults_ += 7;
    now_ += microseconds(500);
    EXPECT_EQ(Batch(8192, microseconds(90), 1 + i % 3), 1 + i % 3);
  }
}

TEST_F(FaultWatchTest, LargeBatchesAreAlwaysCounted) {
  for (uint64_t i = 0; i < 10; ++i) {
    EXPECT_EQ(Batch(uint64_t{256} << 10, microseconds(20), i % 2), i % 2);
  }
  EXPECT_EQ(asked_, 1u + 10u);  // the end of one is the beginning of the next
}

TEST_F(FaultWatchTest, AFaultThatAShortBatchHidComesWithTheNextCount) {
  EXPECT_EQ(Batch(8192, microseconds(3), 1), 0u);
  EXPECT_EQ(Batch(8192, microseconds(90), 2), 3u);
}

}  // namespace
}  // namespace poniente::internal
