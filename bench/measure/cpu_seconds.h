// SPDX-License-Identifier: Apache-2.0
#ifndef PONIENTE_BENCH_MEASURE_CPU_SECONDS_H_
#define PONIENTE_BENCH_MEASURE_CPU_SECONDS_H_

#include <sys/resource.h>

namespace poniente::bench {

// User and system time of all threads of the process so far, the kernel's
// io_uring workers included.
inline double CpuSeconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) +
           1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace poniente::bench

#endif  // PONIENTE_BENCH_MEASURE_CPU_SECONDS_H_
