// SPDX-License-Identifier: Apache-2.0
// Measures how a thread spends its time. Other threads may read the results.

#ifndef PONIENTE_LOADER_METRICS_THREAD_TIMES_H_
#define PONIENTE_LOADER_METRICS_THREAD_TIMES_H_

#include <time.h>

#include <chrono>
#include <cstdint>
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
  // Returns how much of Computed() was in the kernel, about, as Linux looks at
  // that some hundred times a second; 0 if it does not report it.
  std::chrono::nanoseconds InKernel() const;

 private:
  clockid_t clock_ = CLOCK_THREAD_CPUTIME_ID;
  // Descriptors, or negative.
  const int schedstat_;
  const int stat_;
};

// Returns the processor time of the calling thread.
std::chrono::nanoseconds ThreadCpuTime();

// Returns the second number of a schedstat file: "computed waited slices\n". 0
// if it is missing.
std::chrono::nanoseconds RunDelayOf(std::string_view schedstat);

// Returns the time in the kernel by a file /proc/.../stat, whose times are in
// parts of a second; 0 if it is missing.
std::chrono::nanoseconds KernelTimeOf(std::string_view stat,
                                      int64_t parts_of_second);

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_METRICS_THREAD_TIMES_H_
