// SPDX-License-Identifier: Apache-2.0
// Times are told, not waited for.
#include "poniente/extend/busy_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "tests/support/counting_dataset.h"

namespace poniente::internal {
namespace {

using std::chrono::seconds;

BusyTime::Clock::time_point AtSecond(int second) {
  return BusyTime::Clock::time_point() + seconds(second);
}

TEST(BusyTimeTest, CallsThatOverlapCountOnce) {
  BusyTime time;
  time.Began(AtSecond(1));
  time.Began(AtSecond(2));
  time.Ended(AtSecond(4));
  time.Ended(AtSecond(8));
  time.Began(AtSecond(100));
  time.Ended(AtSecond(101));
  EXPECT_EQ(time.Until(AtSecond(1000)), seconds(7 + 1));
}

TEST(BusyTimeTest, ACallThatGoesOnIsSeenBeforeItEnds) {
  BusyTime time;
  EXPECT_EQ(time.Until(AtSecond(5)), seconds(0));
  time.Began(AtSecond(5));
  EXPECT_EQ(time.Until(AtSecond(8)), seconds(3));
  time.Ended(AtSecond(9));
  EXPECT_EQ(time.Until(AtSecond(20)), seconds(4));
}

// Threads read the clock before they come to the lock.
TEST(BusyTimeTest, AClockReadALittleEarlierTakesNothingAway) {
  BusyTime time;
  time.Began(AtSecond(5));
  EXPECT_EQ(time.Until(AtSecond(4)), seconds(0));
  time.Began(AtSecond(3));
  time.Ended(AtSecond(9));
  time.Ended(AtSecond(8));
  EXPECT_EQ(time.Until(AtSecond(8)), seconds(4));
}

TEST(BusyTimeTest, OnManyThreadsItIsThatOfAllCalls) {
  BusyTime time;
  time.Began(AtSecond(0));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&time] {
      for (int second = 0; second < 1000; ++second) {
        time.Began(AtSecond(second));
        time.Ended(AtSecond(second + 1));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  time.Ended(AtSecond(2000));
  EXPECT_EQ(time.Until(AtSecond(3000)), seconds(2000));
}

TEST(BusyTimeTest, ADatasetCountsFromTheFirstTimeItIsTold) {
  const auto dataset = poniente::testing::Counting(3);
  EXPECT_EQ(dataset->busy_time(), nullptr);
  dataset->CountTime();
  const BusyTime* const time = dataset->busy_time();
  ASSERT_NE(time, nullptr);
  dataset->CountTime();
  EXPECT_EQ(dataset->busy_time(), time);
}

}  // namespace
}  // namespace poniente::internal
