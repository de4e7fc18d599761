// SPDX-License-Identifier: Apache-2.0
#include "loader/metrics/thread_times.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>

#include "io/files/descriptors.h"

namespace poniente::internal {

using std::chrono::nanoseconds;

namespace {

nanoseconds ReadClock(clockid_t clock) {
  timespec used = {};
  if (clock_gettime(clock, &used) != 0) return nanoseconds(0);
  return std::chrono::seconds(used.tv_sec) + nanoseconds(used.tv_nsec);
}

}  // namespace

// Opens the file once, so that later reads do not need a free descriptor.
ThreadTimes::ThreadTimes()
    : schedstat_(CallForDescriptor([] {
        const int fd =
            open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
        return fd >= 0 ? fd : -errno;
      })) {
  pthread_getcpuclockid(pthread_self(), &clock_);
}

ThreadTimes::~ThreadTimes() {
  if (schedstat_ >= 0) close(schedstat_);
}

nanoseconds ThreadTimes::Computed() const { return ReadClock(clock_); }
nanoseconds ThreadCpuTime() { return ReadClock(CLOCK_THREAD_CPUTIME_ID); }

nanoseconds ThreadTimes::WaitedForCore() const {
  char text[128];
  const ssize_t bytes =
      schedstat_ < 0 ? -1 : pread(schedstat_, text, sizeof(text), 0);
  return RunDelayOf({text, bytes < 0 ? 0 : static_cast<size_t>(bytes)});
}

nanoseconds RunDelayOf(std::string_view schedstat) {
  const size_t space = schedstat.find(' ');
  if (space == std::string_view::npos) return nanoseconds(0);
  schedstat.remove_prefix(space + 1);
  int64_t delay = 0;
  std::from_chars(schedstat.data(), schedstat.data() + schedstat.size(), delay);
  return nanoseconds(delay);
}

}  // namespace poniente::internal
