// SPDX-License-Identifier: Apache-2.0
// Built without nvcc.
#include "staging/cuda_widen.h"
#include "util/check.h"

namespace poniente::internal {

bool HasCudaWiden() { return false; }

int QueueCudaWiden(const std::byte* /*from*/, std::byte* /*to*/,
                   const Widening& /*ids*/, void* /*stream*/) {
  PONIENTE_CHECK(HasCudaWiden()) << "built without nvcc";
  return 0;
}

}  // namespace poniente::internal
