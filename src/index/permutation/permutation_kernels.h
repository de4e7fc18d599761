// SPDX-License-Identifier: Apache-2.0
// The batch forms of permutations above 64 items and of their keys: one for
// each instruction set of this build, all with the same results.

#ifndef PONIENTE_INDEX_PERMUTATION_PERMUTATION_KERNELS_H_
#define PONIENTE_INDEX_PERMUTATION_PERMUTATION_KERNELS_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "poniente/permutation.h"

namespace poniente::internal {

struct PermutationKernel {
  // Replaces each entry by its image below `size`. `out` is `in` or does not
  // overlap it. Returns 0, or an entry that is not below `size`; `out` is then
  // unspecified.
  using Function = uint64_t (*)(const FeistelNetwork& network, uint64_t size,
                                const uint64_t* in, uint64_t* out,
                                size_t count);

  // Replaces first[i] and second[i] by their images under the permutation of
  // sizes[i] by keys[i]. No two arrays overlap. REQUIRES: IsOfEach(sizes[i]),
  // and both are below sizes[i].
  using EachFunction = void (*)(const uint64_t* sizes, const uint64_t* keys,
                                uint64_t* first, uint64_t* second,
                                size_t count);
  static constexpr bool IsOfEach(uint64_t size) {
    return size > kShuffleTableSize && size <= uint64_t{1} << 32;
  }

  // Replaces keys[i] by the key of KeyHash(keys[i]).Add(tag).
  using DeriveFunction = void (*)(uint64_t tag, uint64_t* keys, size_t count);
  // Replaces keys[i], a KeyHash's, by its key with words[i] added.
  using AddFunction = void (*)(const uint64_t* words, uint64_t* keys,
                               size_t count);

  const char* name;
  Function forward;
  Function inverse;
  EachFunction each;
  // `each` for sizes above those of IsOfEach(), up to 2^63.
  EachFunction each_wide;
  DeriveFunction derive;
  AddFunction add;
};

// Defined in permutation_{portable,avx2,avx512}.cc; the latter two are part of
// builds for x86-64 only.
extern const PermutationKernel kPortablePermutationKernel;
extern const PermutationKernel kAvx2PermutationKernel;
extern const PermutationKernel kAvx512PermutationKernel;

// Makes the network of a permutation. REQUIRES: 64 < size <= 2^63.
FeistelNetwork MakeFeistelNetwork(uint64_t size, uint64_t key);

// Returns the kernels of this build, the slowest first.
std::span<const PermutationKernel* const> PermutationKernels();
// Returns whether this machine can run the kernel.
bool IsSupported(const PermutationKernel& kernel);
// Returns the fastest kernel that this machine can run.
const PermutationKernel& BestPermutationKernel();

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_PERMUTATION_PERMUTATION_KERNELS_H_
