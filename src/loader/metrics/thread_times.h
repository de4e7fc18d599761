// SPDX-License-Identifier: Apache-2.0
// Measures how a thread spends its time. Other threads may read the results.

#ifndef PONIENTE_LOADER_METRICS_THREAD_TIMES_H_
#define PONIENTE_LOADER_METRICS_THREAD_TIMES_H_

#include <time.h>

#include <chrono>
#include <string_view>

namespace poniente::internal {

// Thread safety: any number of threads, while the measured thread runs.
class ThreadTimes {
 public:
  // Measures the calling thread.
  ThreadTimes();
  ~ThreadTimes();
  ThreadTimes(const ThreadTimes&) = delete;
  ThreadTimes& operator=(const ThreadTimes&) = delete;

  std::chrono::nanoseconds Computed() const;
  // Returns the time for which the thread was ready to run while all cores were
  // busy; 0 if the kernel does not report it.
  std::chrono::nanoseconds WaitedForCore() const;

 private:
  clockid_t clock_ = CLOCK_THREAD_CPUTIME_ID;
  int schedstat_;  // a descriptor, or -1
};

// Returns the processor time of the calling thread.
std::chrono::nanoseconds ThreadCpuTime();

// Returns the second number of a schedstat file: "computed waited slices\n". 0
// if it is missing.
std::chrono::nanoseconds RunDelayOf(std::string_view schedstat);

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_METRICS_THREAD_TIMES_H_
