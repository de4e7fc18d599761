// SPDX-License-Identifier: Apache-2.0
// The only kernel of the library. cuda_widen.cu or no_cuda_widen.cc, as CMake
// finds nvcc.

#ifndef PONIENTE_STAGING_CUDA_WIDEN_H_
#define PONIENTE_STAGING_CUDA_WIDEN_H_

#include <cstddef>

#include "staging/widening.h"

namespace poniente::internal {

// Whether the thread's current GPU can run it. May make the driver load it.
bool HasCudaWiden();

// Queues it on `stream`, a cudaStream_t: ids at `from` become ids at `to`, both
// on the GPU and aligned to 16 bytes. What the runtime answers, a cudaError_t.
// REQUIRES: HasCudaWiden().
int QueueCudaWiden(const std::byte* from, std::byte* to, const Widening& ids,
                   void* stream);

}  // namespace poniente::internal

#endif  // PONIENTE_STAGING_CUDA_WIDEN_H_
