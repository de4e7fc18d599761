// SPDX-License-Identifier: Apache-2.0
// Chosen by hand: a resolver run by the dynamic linker (target_clones) starts
// before ThreadSanitizer does, and crashes.
#include "index/permutation/permutation_kernels.h"

namespace poniente::internal {
namespace {

constexpr const PermutationKernel* kKernels[] = {
    &kPortablePermutationKernel,
#if defined(PONIENTE_X86_64_KERNELS)
    &kAvx2PermutationKernel,
    &kAvx512PermutationKernel,
#endif
};

const PermutationKernel* Choose() {
  const PermutationKernel* best = &kPortablePermutationKernel;
  for (const PermutationKernel* kernel : kKernels) {
    if (IsSupported(*kernel)) best = kernel;
  }
  return best;
}

}  // namespace

std::span<const PermutationKernel* const> PermutationKernels() {
  return kKernels;
}

bool IsSupported(const PermutationKernel& kernel) {
#if defined(PONIENTE_X86_64_KERNELS)
  __builtin_cpu_init();
  if (&kernel == &kAvx2PermutationKernel) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt");
  }
  if (&kernel == &kAvx512PermutationKernel) {
    return __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("popcnt");
  }
#endif
  return &kernel == &kPortablePermutationKernel;
}

const PermutationKernel& BestPermutationKernel() {
  static const PermutationKernel* const best = Choose();
  return *best;
}

}  // namespace poniente::internal
