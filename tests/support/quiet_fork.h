// SPDX-License-Identifier: Apache-2.0
// A fork() while the process's other threads sleep.

#ifndef PONIENTE_TESTS_SUPPORT_QUIET_FORK_H_
#define PONIENTE_TESTS_SUPPORT_QUIET_FORK_H_

#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

namespace poniente::testing {

// Returns whether all threads but the calling one sleep.
inline bool OthersSleep() {
  const std::string self = std::to_string(::gettid());
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/self/task")) {
    if (task.path().filename() == self) continue;
    std::ifstream file(task.path() / "stat");
    const std::string stat{std::istreambuf_iterator<char>(file), {}};
    const size_t name_end = stat.rfind(')');      // then a space, and the state
    if (name_end == std::string::npos) continue;  // the thread has ended
    if (stat.compare(name_end + 1, 2, " S") != 0) return false;
  }
  return true;
}

// Forks once the other threads have slept for 5 ms; after 10 s in any case. The
// allocator of AddressSanitizer does not take its locks for a fork(), as the C
// library's does: while another thread allocates, the child would wait for it
// for ever. So this is for threads that sleep for much longer than that.
inline pid_t QuietFork() {
  // A thread that sleeps once may wait for a lock; one that still does after
  // that waits for something to happen.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  for (int quiet = 0; quiet < 5 && std::chrono::steady_clock::now() < end;
       quiet = OthersSleep() ? quiet + 1 : 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return ::fork();
}

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_SUPPORT_QUIET_FORK_H_
