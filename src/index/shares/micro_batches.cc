// SPDX-License-Identifier: Apache-2.0
// Consecutive micro-batches are filled greedily. No other division needs fewer:
// if a micro-batch is within a limit, so is what is left of it after samples
// were taken off its front or its end, and so the greedy division is never
// behind any other.

#include <algorithm>
#include <cstddef>

#include "index/int128.h"
#include "poniente/shares.h"

namespace poniente {
namespace {

// Returns where a micro-batch ends that begins with the sample at `begin` and
// takes samples before `last`, as many as the limit allows but at least one.
uint64_t FilledTo(std::span<const uint64_t> sizes, uint64_t begin,
                  uint64_t last, uint64_t limit) {
  internal::Uint128 size = sizes[begin];
  uint64_t end = begin + 1;
  while (end < last && size + sizes[end] <= limit) size += sizes[end++];
  return end;
}

// Returns how many micro-batches a limit takes.
uint64_t CountWithin(std::span<const uint64_t> sizes, uint64_t limit) {
  uint64_t count = 0;
  for (uint64_t at = 0; at < sizes.size(); ++count) {
    at = FilledTo(sizes, at, sizes.size(), limit);
  }
  return count;
}

// Returns the least limit that takes at most `count` micro-batches.
// REQUIRES: `limit` does.
uint64_t LeastLimit(std::span<const uint64_t> sizes, uint64_t count,
                    uint64_t limit) {
  uint64_t too_low_below = 0;
  while (too_low_below < limit) {
    const uint64_t middle = too_low_below + (limit - too_low_below) / 2;
    if (CountWithin(sizes, middle) <= count) {
      limit = middle;
    } else {
      too_low_below = middle + 1;
    }
  }
  return limit;
}

}  // namespace

std::vector<BatchShare> MicroBatches(std::span<const uint64_t> sizes,
                                     uint64_t budget, uint64_t at_least) {
  const uint64_t count = std::max(CountWithin(sizes, budget), at_least);
  const uint64_t limit = LeastLimit(sizes, count, budget);
  std::vector<BatchShare> micro_batches(count);
  uint64_t at = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t begin = at;
    if (at < sizes.size()) {
      // Leaves a sample for each micro-batch that follows, if there are enough.
      const uint64_t following = std::min(count - i - 1, sizes.size() - at - 1);
      at = FilledTo(sizes, at, sizes.size() - following, limit);
    }
    micro_batches[i] = {begin, at};
  }
  return micro_batches;
}

}  // namespace poniente
