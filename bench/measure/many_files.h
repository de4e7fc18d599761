// SPDX-License-Identifier: Apache-2.0
// What the benchmarks of thousands of files or stores share.

#ifndef PONIENTE_BENCH_MEASURE_MANY_FILES_H_
#define PONIENTE_BENCH_MEASURE_MANY_FILES_H_

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <optional>

#include "bench/measure/require.h"

namespace poniente::bench {

inline double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

// Returns argument number `place`, at least 1; `otherwise` without it.
inline size_t CountArgument(int argc, char** argv, int place, int otherwise) {
  const int given = argc > place ? std::atoi(argv[place]) : otherwise;
  return static_cast<size_t>(std::max(1, given));
}

// Descriptors, marks of verified blocks and what a backend has learned do not
// outlive the process. Nullopt if it failed, and has said why.
template <class Result>
std::optional<Result> InProcessOfItsOwn(
    const std::function<void(Result*)>& measure) {
  void* const shared = mmap(nullptr, sizeof(Result), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  Require(shared != MAP_FAILED, "mmap failed");
  auto* const result = new (shared) Result;
  const pid_t child = fork();
  Require(child >= 0, "fork failed");
  if (child == 0) {
    measure(result);
    _exit(0);
  }
  int status = 0;
  Require(waitpid(child, &status, 0) == child, "waitpid failed");
  const Result copy = *result;
  munmap(shared, sizeof(Result));
  if (status != 0) return std::nullopt;
  return copy;
}

}  // namespace poniente::bench

#endif  // PONIENTE_BENCH_MEASURE_MANY_FILES_H_
