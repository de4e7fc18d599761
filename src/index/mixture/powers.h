// SPDX-License-Identifier: Apache-2.0
// Logarithms and powers of two in integers (docs/index-math.md 2.1). pow() and
// exp() of different mathematical libraries differ in the last bit, which would
// change the order; these functions return the same everywhere. Part of the
// order (kOrderVersion).

#ifndef PONIENTE_INDEX_MIXTURE_POWERS_H_
#define PONIENTE_INDEX_MIXTURE_POWERS_H_

#include <cstdint>

#include "index/int128.h"

namespace poniente::internal {

// Returns log2(x) in units of 2^-48, too low by less than one unit. REQUIRES: x
// is finite and above 0.
int64_t FixedLog2(double x);

// Returns 2^z in units of 2^-62, for z in units of 2^-48. The relative error is
// below 2^-56, before rounding down; below 2^-63 the result is 0. REQUIRES: z
// <= 0.
uint64_t FixedExp2(Int128 z);

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_MIXTURE_POWERS_H_
