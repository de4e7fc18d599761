// SPDX-License-Identifier: Apache-2.0
// Compiled by nvcc as C++17.
#include <cuda_runtime_api.h>

#include <algorithm>

#include "staging/cuda_widen.h"
#include "staging/widen_ids.h"

namespace poniente::internal {
namespace {

constexpr uint64_t kThreads = 256;  // per block
// Enough to use all memory bandwidth of a GPU. More would leave less room for
// the trainer's kernels.
constexpr uint64_t kMaxBlocks = 1024;

template <class From, class To>
__global__ void Widen(const From* from, uint64_t count, To* to) {
  const uint64_t thread = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  WidenShare(from, count, thread, uint64_t{gridDim.x} * blockDim.x, to);
}

// Returns the kernel for these widths; null if there is none.
const void* KernelFor(const Widening& ids) {
  switch (ids.from_bytes << 4 | ids.to_bytes) {
    case 0x12:
      return reinterpret_cast<const void*>(&Widen<uint8_t, uint16_t>);
    case 0x14:
      return reinterpret_cast<const void*>(&Widen<uint8_t, uint32_t>);
    case 0x18:
      return reinterpret_cast<const void*>(&Widen<uint8_t, uint64_t>);
    case 0x24:
      return reinterpret_cast<const void*>(&Widen<uint16_t, uint32_t>);
    case 0x28:
      return reinterpret_cast<const void*>(&Widen<uint16_t, uint64_t>);
    case 0x48:
      return reinterpret_cast<const void*>(&Widen<uint32_t, uint64_t>);
    default:
      return nullptr;
  }
}

}  // namespace

bool HasCudaWiden() {
  cudaFuncAttributes attributes;
  const cudaError_t error =
      cudaFuncGetAttributes(&attributes, KernelFor({1, 1, 2}));
  if (error != cudaSuccess) (void)cudaGetLastError();
  return error == cudaSuccess;
}

int QueueCudaWiden(const std::byte* from, std::byte* to, const Widening& ids,
                   void* stream) {
  if (ids.count == 0) return cudaSuccess;
  const void* const kernel = KernelFor(ids);
  if (kernel == nullptr) return cudaErrorInvalidValue;
  const uint64_t at_once = 16 / ids.to_bytes;
  const uint64_t threads = (ids.count + at_once - 1) / at_once;
  const uint64_t blocks =
      std::min(kMaxBlocks, (threads + kThreads - 1) / kThreads);
  uint64_t count = ids.count;
  void* arguments[] = {&from, &count, &to};
  return cudaLaunchKernel(kernel, dim3(static_cast<unsigned>(blocks)),
                          dim3(static_cast<unsigned>(kThreads)), arguments, 0,
                          static_cast<cudaStream_t>(stream));
}

}  // namespace poniente::internal
