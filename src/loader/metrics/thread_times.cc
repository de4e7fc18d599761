// SPDX-License-Identifier: Apache-2.0
#include "loader/metrics/thread_times.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <span>

#include "io/files/descriptors.h"

namespace poniente::internal {

using std::chrono::nanoseconds;

namespace {

nanoseconds ReadClock(clockid_t clock) {
  timespec used = {};
  if (clock_gettime(clock, &used) != 0) return nanoseconds(0);
  return std::chrono::seconds(used.tv_sec) + nanoseconds(used.tv_nsec);
}

int Open(const char* path) {
  return CallForDescriptor([path] {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd >= 0 ? fd : -errno;
  });
}

// Returns what the file has now, in `room`.
std::string_view Read(int fd, std::span<char> room) {
  const ssize_t bytes = fd < 0 ? -1 : pread(fd, room.data(), room.size(), 0);
  return {room.data(), bytes < 0 ? 0 : static_cast<size_t>(bytes)};
}

// Returns the number at the beginning of `text`; 0 if there is none.
int64_t NumberIn(std::string_view text) {
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

// Opens the files once, so that later reads do not need a free descriptor.
ThreadTimes::ThreadTimes()
    : schedstat_(Open("/proc/thread-self/schedstat")),
      stat_(Open("/proc/thread-self/stat")) {
  pthread_getcpuclockid(pthread_self(), &clock_);
}

ThreadTimes::~ThreadTimes() {
  if (schedstat_ >= 0) close(schedstat_);
  if (stat_ >= 0) close(stat_);
}

nanoseconds ThreadTimes::Computed() const { return ReadClock(clock_); }
nanoseconds ThreadCpuTime() { return ReadClock(CLOCK_THREAD_CPUTIME_ID); }

nanoseconds ThreadTimes::WaitedForCore() const {
  char room[128];
  return RunDelayOf(Read(schedstat_, room));
}

nanoseconds ThreadTimes::InKernel() const {
  char room[1024];
  return KernelTimeOf(Read(stat_, room), sysconf(_SC_CLK_TCK));
}

nanoseconds RunDelayOf(std::string_view schedstat) {
  const size_t space = schedstat.find(' ');
  if (space == std::string_view::npos) return nanoseconds(0);
  return nanoseconds(NumberIn(schedstat.substr(space + 1)));
}

// "pid (name) state ...": the name may have spaces and brackets. The time is
// the 13th field behind it.
nanoseconds KernelTimeOf(std::string_view stat, int64_t parts_of_second) {
  constexpr int kField = 13;
  stat.remove_prefix(std::min(stat.rfind(')'), stat.size()));
  for (int i = 0; i < kField; ++i) {
    const size_t space = stat.find(' ');
    if (space == std::string_view::npos) return nanoseconds(0);
    stat.remove_prefix(space + 1);
  }
  return nanoseconds(std::chrono::seconds(NumberIn(stat))) / parts_of_second;
}

}  // namespace poniente::internal
