// SPDX-License-Identifier: Apache-2.0
#ifndef PONIENTE_INDEX_JOURNAL_NUMBER_RANGES_H_
#define PONIENTE_INDEX_JOURNAL_NUMBER_RANGES_H_

#include <algorithm>
#include <cstdint>
#include <span>

#include "poniente/journal.h"

namespace poniente::internal {

// Returns whether one of the ranges has the number. They ascend, and none
// overlaps another.
inline bool HasNumber(std::span<const NumberRange> ranges, uint64_t number) {
  const auto first_to_end_behind = std::partition_point(
      ranges.begin(), ranges.end(),
      [number](const NumberRange& range) { return range.end <= number; });
  return first_to_end_behind != ranges.end() &&
         first_to_end_behind->begin <= number;
}

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_JOURNAL_NUMBER_RANGES_H_
