// SPDX-License-Identifier: Apache-2.0
// What a thread does with its time, as others see it.

#ifndef PONIENTE_LOADER_THREAD_TIMES_H_
#define PONIENTE_LOADER_THREAD_TIMES_H_

#include <time.h>

#include <chrono>
#include <string_view>

namespace poniente::internal {

// Thread safety: any thread, while the thread that it is of lives.
class ThreadTimes {
 public:
  // Of the calling thread.
  ThreadTimes();
  ~ThreadTimes();
  ThreadTimes(const ThreadTimes&) = delete;
  ThreadTimes& operator=(const ThreadTimes&) = delete;

  std::chrono::nanoseconds Computed() const;
  // Ready to run while all cores were busy; 0 where the kernel does not tell.
  std::chrono::nanoseconds WaitedForCore() const;

 private:
  clockid_t clock_ = CLOCK_THREAD_CPUTIME_ID;
  int schedstat_;  // a descriptor, or -1
};

// The second number of a schedstat file: "computed waited slices\n". 0 if it is
// not there.
std::chrono::nanoseconds RunDelayOf(std::string_view schedstat);

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_THREAD_TIMES_H_
