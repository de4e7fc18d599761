// SPDX-License-Identifier: Apache-2.0
// What permutation_{portable,avx2,avx512}.cc define; the latter two are part of
// builds for x86-64 only.

#ifndef PONIENTE_INDEX_PERMUTATION_VARIANTS_H_
#define PONIENTE_INDEX_PERMUTATION_VARIANTS_H_

#include "index/permutation_kernels.h"

namespace poniente::internal {

extern const PermutationKernel kPortablePermutationKernel;
extern const PermutationKernel kAvx2PermutationKernel;
extern const PermutationKernel kAvx512PermutationKernel;

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_PERMUTATION_VARIANTS_H_
