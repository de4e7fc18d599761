// SPDX-License-Identifier: Apache-2.0
#ifndef PONIENTE_BENCH_MEASURE_CPU_SECONDS_H_
#define PONIENTE_BENCH_MEASURE_CPU_SECONDS_H_

#include <sys/resource.h>

namespace poniente::bench {

// User and system time so far: of all threads of the process, the kernel's
// io_uring workers included, or (RUSAGE_CHILDREN) of the processes that it has
// waited for.
inline double CpuSeconds(int who = RUSAGE_SELF) {
  rusage usage;
  getrusage(who, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) +
           1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace poniente::bench

#endif  // PONIENTE_BENCH_MEASURE_CPU_SECONDS_H_
