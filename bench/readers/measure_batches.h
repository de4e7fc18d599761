// SPDX-License-Identifier: Apache-2.0
// How fast a function makes batches.

#ifndef PONIENTE_BENCH_READERS_MEASURE_BATCHES_H_
#define PONIENTE_BENCH_READERS_MEASURE_BATCHES_H_

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "bench/measure/cpu_seconds.h"
#include "bench/readers/comparison.h"

namespace poniente::bench {

// Calls `batch`, which makes one of `items`, for 0.3 seconds, and then for
// `seconds` that count. Looks at the clock once in `between` batches.
template <class MakeBatch>
Sample MeasureBatches(double seconds, size_t items, MakeBatch&& batch,
                      uint64_t between = 1) {
  using Clock = std::chrono::steady_clock;
  const auto run = [&](double for_seconds) {
    const auto end = Clock::now() + std::chrono::duration<double>(for_seconds);
    uint64_t batches = 0;
    while (Clock::now() < end) {
      for (uint64_t i = 0; i < between; ++i) batch();
      batches += between;
    }
    return static_cast<double>(batches * items);
  };
  run(0.3);
  Sample sample;
  const double cpu = CpuSeconds();
  const Clock::time_point start = Clock::now();
  const double done = run(seconds);
  const std::chrono::duration<double> took = Clock::now() - start;
  sample.reads_per_second = done / took.count();
  sample.cpu_microseconds = 1e6 * (CpuSeconds() - cpu) / done;
  sample.cached = 1;
  return sample;
}

}  // namespace poniente::bench

#endif  // PONIENTE_BENCH_READERS_MEASURE_BATCHES_H_
