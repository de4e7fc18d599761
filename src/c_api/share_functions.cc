// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "c_api/boundary.h"
#include "poniente/poniente_c.h"
#include "poniente/shares.h"

using namespace poniente;            // NOLINT: the functions below are C's
using namespace poniente::internal;  // NOLINT

int32_t poniente_micro_batches(const uint64_t* sizes, size_t num_samples,
                               uint64_t budget, size_t at_least,
                               poniente_micro_batch* micro_batches,
                               size_t capacity, size_t* count) {
  return AtBoundary([&]() -> absl::Status {
    if (num_samples > 0) PONIENTE_RETURN_IF_NULL(sizes);
    PONIENTE_RETURN_IF_NULL(count);
    const std::span<const uint64_t> of_rank(sizes, num_samples);
    // Counted without at_least, which may be too large to allocate.
    const size_t needed =
        std::max(MicroBatches(of_rank, budget).size(), at_least);
    if (micro_batches != nullptr) {
      if (needed > capacity) {
        return absl::InvalidArgumentError(absl::StrCat(
            "'micro_batches' has room for ", capacity, ", there are ", needed,
            "; the greater one of num_samples and at_least is always enough"));
      }
      const std::vector<BatchShare> made =
          MicroBatches(of_rank, budget, at_least);
      std::transform(made.begin(), made.end(), micro_batches,
                     [](const BatchShare& share) {
                       return poniente_micro_batch{share.begin, share.end};
                     });
    }
    *count = needed;
    return absl::OkStatus();
  });
}
