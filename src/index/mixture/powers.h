// SPDX-License-Identifier: Apache-2.0
// Logarithms and powers of two in integers. pow() and exp() differ between
// mathematical libraries by a last bit, which would be another order; these
// give the same everywhere. Part of the order (kOrderVersion).

#ifndef PONIENTE_INDEX_MIXTURE_POWERS_H_
#define PONIENTE_INDEX_MIXTURE_POWERS_H_

#include <cstdint>

#include "index/int128.h"

namespace poniente::internal {

// log2(x) in units of 2^-48, too low by less than one unit.
// REQUIRES: x is finite and above 0.
int64_t FixedLog2(double x);

// 2^z in units of 2^-62, z in units of 2^-48; off by less than 2^-56 of itself,
// then rounded down; 0 below 2^-63. REQUIRES: z <= 0.
uint64_t FixedExp2(Int128 z);

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_MIXTURE_POWERS_H_
