// SPDX-License-Identifier: Apache-2.0
// Random lengths of documents, as measurements of packing use them.

#ifndef PONIENTE_BENCH_MEASURE_DOCUMENT_LENGTHS_H_
#define PONIENTE_BENCH_MEASURE_DOCUMENT_LENGTHS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>

namespace poniente::bench {

inline constexpr uint32_t kLongestDocument = 1 << 20;

// Returns the next length, from 1 to kLongestDocument.
using DrawLength = uint32_t (*)(std::mt19937_64& random);

// Uniform in (0, 1].
inline double Uniform(std::mt19937_64& random) {
  return (static_cast<double>(random() >> 11) + 1) * 0x1p-53;
}

// Log-normal, with a median of 600 and sigma 1; rounded to the nearest.
inline uint32_t LogNormalLength(std::mt19937_64& random) {
  // Box and Muller.
  const double normal = std::sqrt(-2 * std::log(Uniform(random))) *
                        std::cos(6.283185307179586 * Uniform(random));
  const double length = std::round(600 * std::exp(normal));
  return static_cast<uint32_t>(std::clamp<double>(length, 1, kLongestDocument));
}

// A power law: P(n > x) = (100 / x)^1.2.
inline uint32_t PowerLength(std::mt19937_64& random) {
  const double length = 100 * std::pow(Uniform(random), -1 / 1.2);
  return static_cast<uint32_t>(std::min<double>(length, kLongestDocument));
}

}  // namespace poniente::bench

#endif  // PONIENTE_BENCH_MEASURE_DOCUMENT_LENGTHS_H_
