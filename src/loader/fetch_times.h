// SPDX-License-Identifier: Apache-2.0
// Where the time of one batch went, measured as it is made.

#ifndef PONIENTE_LOADER_FETCH_TIMES_H_
#define PONIENTE_LOADER_FETCH_TIMES_H_

#include <chrono>
#include <utility>

namespace poniente::internal {

// The parts of LoaderMetrics that end in _seconds and begin alike.
struct FetchTimes {
  std::chrono::nanoseconds length{0};
  std::chrono::nanoseconds resolve{0};
  std::chrono::nanoseconds read{0};
  std::chrono::nanoseconds decode{0};
};

inline double Seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

class Stopwatch {
 public:
  // Time since the last call, or since construction.
  std::chrono::nanoseconds Lap() {
    const Clock::time_point now = Clock::now();
    return now - std::exchange(begin_, now);
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_ = Clock::now();
};

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_FETCH_TIMES_H_
