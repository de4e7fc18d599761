// SPDX-License-Identifier: Apache-2.0
#include "io/memory_budget.h"

#include <algorithm>

#include "io/files/page_cache.h"

namespace poniente::internal {
namespace {

constexpr uint64_t kMinBytes = uint64_t{64} << 20;

}  // namespace

uint64_t MemoryBudget::Limit() const {
  static const uint64_t bytes =
      std::max(kMinBytes, AvailableMemoryBytes() / 16);
  const uint64_t set = limit_.load(std::memory_order_relaxed);
  return set == 0 ? bytes : set;
}

}  // namespace poniente::internal
