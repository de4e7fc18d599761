// SPDX-License-Identifier: Apache-2.0
#include "loader/metrics/thread_times.h"

#include <gtest/gtest.h>

#include <fstream>
#include <future>
#include <string>
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

TEST(ThreadTimesTest, TellsOfTheTimeInTheKernel) {
  const ThreadTimes times;
  const nanoseconds before = times.InKernel();
  // Reading /proc is work of the kernel.
  char byte;
  const auto computed = times.Computed();
  while (times.Computed() - computed < milliseconds(300)) {
    std::ifstream("/proc/self/maps").read(&byte, 1);
  }
  EXPECT_GT(times.InKernel() - before, milliseconds(50));
  EXPECT_LE(times.InKernel(), times.Computed());
}

TEST(ThreadTimesTest, ReadsTheKernelsTimeOfStat) {
  const std::string rest =
      " S 1 2 3 4 -1 4194304 5 6 7 8 150 250 9 10 20 0 17 0 100\n";
  EXPECT_EQ(KernelTimeOf("42 (loader)" + rest, 100), milliseconds(2500));
  EXPECT_EQ(KernelTimeOf("42 (1 2) 3 4 5)" + rest, 1000), milliseconds(250));
  for (const char* other :
       {"", "42", "42 (x)", "42 (x) S 1 2 3 4 -1 4 5 6 7 8"}) {
    EXPECT_EQ(KernelTimeOf(other, 100), nanoseconds(0)) << other;
  }
}

}  // namespace
}  // namespace poniente::internal
