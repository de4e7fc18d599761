// SPDX-License-Identifier: Apache-2.0
// The batch forms of a permutation above 64 items: one for each instruction set
// that this build knows, all with the same results.

#ifndef PONIENTE_INDEX_PERMUTATION_PERMUTATION_KERNELS_H_
#define PONIENTE_INDEX_PERMUTATION_PERMUTATION_KERNELS_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "poniente/permutation.h"

namespace poniente::internal {

struct PermutationKernel {
  // Replaces each entry by its image below `size`. `out` is `in` or does not
  // overlap it. Returns 0, or, with `out` unspecified, an entry that is not
  // below `size`.
  using Function = uint64_t (*)(const FeistelNetwork& network, uint64_t size,
                                const uint64_t* in, uint64_t* out,
                                size_t count);

  // Replaces values[i] by its image under the permutation of sizes[i] by
  // keys[i]. REQUIRES: IsOfEach(sizes[i]), values[i] < sizes[i].
  using EachFunction = void (*)(const uint64_t* sizes, const uint64_t* keys,
                                uint64_t* values, size_t count);
  static constexpr bool IsOfEach(uint64_t size) {
    return size > kShuffleTableSize && size <= uint64_t{1} << 32;
  }

  const char* name;
  Function forward;
  Function inverse;
  EachFunction each;
};

// What permutation_{portable,avx2,avx512}.cc define; the latter two are part of
// builds for x86-64 only.
extern const PermutationKernel kPortablePermutationKernel;
extern const PermutationKernel kAvx2PermutationKernel;
extern const PermutationKernel kAvx512PermutationKernel;

// REQUIRES: 64 < size <= 2^63.
FeistelNetwork MakeFeistelNetwork(uint64_t size, uint64_t key);

// Those of this build, the slowest first.
std::span<const PermutationKernel* const> PermutationKernels();
// Whether this machine can run it.
bool IsSupported(const PermutationKernel& kernel);
// The fastest that this machine can run.
const PermutationKernel& BestPermutationKernel();

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_PERMUTATION_PERMUTATION_KERNELS_H_
