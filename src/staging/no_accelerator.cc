// SPDX-License-Identifier: Apache-2.0
// Built without the CUDA toolkit.
#include "staging/accelerator.h"

namespace poniente::internal {

absl::StatusOr<std::unique_ptr<Accelerator>> OpenCuda(int32_t /*ordinal*/) {
  return absl::FailedPreconditionError(
      "the library was built without CUDA; install the CUDA toolkit (its "
      "runtime library is enough) and build again");
}

}  // namespace poniente::internal
