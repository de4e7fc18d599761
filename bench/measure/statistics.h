// SPDX-License-Identifier: Apache-2.0
// What is said of the figures of several rounds.

#ifndef PONIENTE_BENCH_MEASURE_STATISTICS_H_
#define PONIENTE_BENCH_MEASURE_STATISTICS_H_

#include <algorithm>
#include <vector>

namespace poniente::bench {

// REQUIRES of each: values is not empty.

inline double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// The distance between the quartiles.
inline double Noise(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() * 3 / 4] - values[values.size() / 4];
}

// (max - min) / median.
inline double Spread(const std::vector<double>& values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return *most == *least ? 0 : (*most - *least) / Median(values);
}

}  // namespace poniente::bench

#endif  // PONIENTE_BENCH_MEASURE_STATISTICS_H_
