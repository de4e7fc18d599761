// SPDX-License-Identifier: Apache-2.0
#include "index/permutation/permutation_batch.h"
#include "index/permutation/permutation_each.h"
#include "index/permutation/permutation_kernels.h"

namespace poniente::internal {

const PermutationKernel kAvx2PermutationKernel = {"avx2",
                                                  MapBatch<true>,
                                                  MapBatch<false>,
                                                  MapEach<NarrowEach>,
                                                  MapEach<WideEach>,
                                                  DeriveEach,
                                                  AddToEach};

}  // namespace poniente::internal
