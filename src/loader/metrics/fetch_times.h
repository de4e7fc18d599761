// SPDX-License-Identifier: Apache-2.0
// Measures where the time of one batch goes while it is made.

#ifndef PONIENTE_LOADER_METRICS_FETCH_TIMES_H_
#define PONIENTE_LOADER_METRICS_FETCH_TIMES_H_

#include <chrono>
#include <memory>
#include <utility>

namespace poniente::internal {

class DatasetTimes;

// The fields of LoaderMetrics with the same names and the suffix _seconds.
struct FetchTimes {
  std::chrono::nanoseconds length{0};
  std::chrono::nanoseconds resolve{0};
  std::chrono::nanoseconds read{0};
  std::chrono::nanoseconds decode{0};
  // Reads LoaderMetrics::datasets; null if there are none. Keeps what it reads,
  // or borrows it from what outlives the counters of the loader.
  std::shared_ptr<const DatasetTimes> datasets = nullptr;
};

inline double Seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

class Stopwatch {
 public:
  // Returns the time since the last call, or since construction.
  std::chrono::nanoseconds Lap() {
    const Clock::time_point now = Clock::now();
    return now - std::exchange(begin_, now);
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_ = Clock::now();
};

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_METRICS_FETCH_TIMES_H_
