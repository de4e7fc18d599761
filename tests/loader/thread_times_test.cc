// SPDX-License-Identifier: Apache-2.0
#include "loader/metrics/thread_times.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

namespace poniente::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

TEST(ThreadTimesTest, TellsOfAnotherThread) {
  std::promise<const ThreadTimes*> computed;
  std::promise<void> done;
  std::thread worker([&] {
    const ThreadTimes times;
    while (times.Computed() < milliseconds(5)) {
    }
    computed.set_value(&times);
    done.get_future().wait();
  });
  const ThreadTimes here;
  const ThreadTimes& times = *computed.get_future().get();
  EXPECT_GE(times.Computed(), milliseconds(5));
  EXPECT_GE(times.WaitedForCore(), nanoseconds(0));
  EXPECT_NE(times.Computed(), here.Computed());
  done.set_value();
  worker.join();
}

TEST(ThreadTimesTest, ReadsTheSecondNumberOfSchedstat) {
  EXPECT_EQ(RunDelayOf("123456 82794 17\n"), nanoseconds(82794));
  EXPECT_EQ(RunDelayOf("0 0 0\n"), nanoseconds(0));
  for (const char* other : {"", "123456", "12 ", "12 x", " "}) {
    EXPECT_EQ(RunDelayOf(other), nanoseconds(0)) << other;
  }
}

}  // namespace
}  // namespace poniente::internal
