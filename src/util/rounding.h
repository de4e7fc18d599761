// SPDX-License-Identifier: Apache-2.0
// Divisions and multiples, rounded up.

#ifndef PONIENTE_UTIL_ROUNDING_H_
#define PONIENTE_UTIL_ROUNDING_H_

#include <cstdint>

namespace poniente::internal {

// REQUIRES: by > 0.
constexpr uint64_t CeilDivide(uint64_t value, uint64_t by) {
  return value / by + (value % by != 0);
}

// Returns the least multiple of `unit` that is at least `value`. REQUIRES: unit
// > 0; the multiple is below 2^64.
constexpr uint64_t RoundUp(uint64_t value, uint64_t unit) {
  return CeilDivide(value, unit) * unit;
}

}  // namespace poniente::internal

#endif  // PONIENTE_UTIL_ROUNDING_H_
