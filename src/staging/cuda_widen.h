// SPDX-License-Identifier: Apache-2.0
// The library's only kernel. Defined in cuda_widen.cu or no_cuda_widen.cc,
// depending on whether CMake finds nvcc.

#ifndef PONIENTE_STAGING_CUDA_WIDEN_H_
#define PONIENTE_STAGING_CUDA_WIDEN_H_

#include <cstddef>

#include "staging/widening.h"

namespace poniente::internal {

// Returns whether the thread's current GPU can run it. May make the driver load
// it.
bool HasCudaWiden();

// Queues the kernel on `stream`, a cudaStream_t: it widens the ids at `from`
// into `to`, both on the GPU and aligned to 16 bytes. Returns the runtime's
// cudaError_t. REQUIRES: HasCudaWiden().
int QueueCudaWiden(const std::byte* from, std::byte* to, const Widening& ids,
                   void* stream);

}  // namespace poniente::internal

#endif  // PONIENTE_STAGING_CUDA_WIDEN_H_
