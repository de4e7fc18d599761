// SPDX-License-Identifier: Apache-2.0
// A harness for noisy machines: every case is measured once in each of several
// rounds, right after the yardstick, and is reported as a ratio to it.

#ifndef PONIENTE_BENCH_MEASURE_ROUNDS_H_
#define PONIENTE_BENCH_MEASURE_ROUNDS_H_

#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bench/measure/statistics.h"
#include "index/keyed_hash.h"

namespace poniente::bench {

// Of this thread's processor time: others' turns on the core do not count.
inline double ClockNanoseconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 +
         static_cast<double>(now.tv_nsec);
}

// Nanoseconds that `run` takes.
template <class Run>
double Nanoseconds(Run&& run) {
  const double start = ClockNanoseconds();
  run();
  return ClockNanoseconds() - start;
}

// Measures nanoseconds per operation of `run`, which does `operations`, over
// about 4 ms.
template <class Run>
std::function<double()> Repeated(double operations, Run run) {
  return [=, times = 0]() mutable {
    if (times == 0) times = 1 + static_cast<int>(4e6 / Nanoseconds(run));
    const double total = Nanoseconds([&] {
      for (int i = 0; i < times; ++i) run();
    });
    return total / (times * operations);
  };
}

// One mix64 of a counter, one at a time.
inline double MeasureYardstick() {
  constexpr uint64_t kTimes = 2000000;
  return Nanoseconds([] {
           for (uint64_t i = 0; i < kTimes; ++i) {
             uint64_t mixed = internal::Mix64(i);
             asm volatile("" : "+r"(mixed));
           }
         }) /
         kTimes;
}

class Series {
 public:
  void Add(double nanoseconds, double yardstick) {
    nanoseconds_.push_back(nanoseconds);
    ratios_.push_back(nanoseconds / yardstick);
  }
  double nanoseconds() const { return Median(nanoseconds_); }
  double noise_nanoseconds() const { return Noise(nanoseconds_); }
  double ratio() const { return Median(ratios_); }
  double noise_ratio() const { return Noise(ratios_); }
  double spread() const { return Spread(nanoseconds_); }

 private:
  std::vector<double> nanoseconds_;
  std::vector<double> ratios_;
};

class Rounds {
 public:
  // `measure` gives nanoseconds per operation.
  void Add(const std::string& name, std::function<double()> measure) {
    cases_.push_back({name, std::move(measure), {}});
  }

  void Run(int rounds) {
    for (int round = 0; round < rounds; ++round) {
      for (Case& one : cases_) {
        const double yardstick = MeasureYardstick();
        yardstick_.Add(yardstick, yardstick);
        one.series.Add(one.measure(), yardstick);
      }
    }
  }

  void Print() const {
    std::printf("%-44s %12s %8s %10s\n", "", "ns", "spread", "ratio to m");
    PrintLine("m: one mix64", yardstick_);
    for (const Case& one : cases_) PrintLine(one.name, one.series);
  }

  const Series& series(const std::string& name) const {
    return std::find_if(cases_.begin(), cases_.end(),
                        [&](const Case& one) { return one.name == name; })
        ->series;
  }

 private:
  struct Case {
    std::string name;
    std::function<double()> measure;
    Series series;
  };

  static void PrintLine(const std::string& name, const Series& series) {
    std::printf("%-44s %12.2f %7.0f%% %10.2f\n", name.c_str(),
                series.nanoseconds(), 100 * series.spread(), series.ratio());
  }

  std::vector<Case> cases_;
  Series yardstick_;
};

}  // namespace poniente::bench

#endif  // PONIENTE_BENCH_MEASURE_ROUNDS_H_
