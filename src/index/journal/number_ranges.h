// SPDX-License-Identifier: Apache-2.0
#ifndef PONIENTE_INDEX_JOURNAL_NUMBER_RANGES_H_
#define PONIENTE_INDEX_JOURNAL_NUMBER_RANGES_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <tuple>
#include <vector>

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

// Returns the same numbers in ascending ranges, none next to another. Ranges
// without a number stay, and are refused where the change is checked.
inline std::vector<NumberRange> JoinedRanges(std::vector<NumberRange> ranges) {
  // Those of a journal's line are joined already, and may be millions.
  const auto is_apart = [](const NumberRange& a, const NumberRange& b) {
    return a.end < b.begin;
  };
  const bool are_joined =
      std::all_of(ranges.begin(), ranges.end(),
                  [](const NumberRange& one) { return one.begin < one.end; }) &&
      std::adjacent_find(ranges.begin(), ranges.end(), std::not_fn(is_apart)) ==
          ranges.end();
  if (are_joined) return ranges;
  std::sort(ranges.begin(), ranges.end(),
            [](const NumberRange& a, const NumberRange& b) {
              return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
            });
  std::vector<NumberRange> joined;
  for (const NumberRange& range : ranges) {
    const bool is_number = range.begin < range.end;
    if (!joined.empty() && is_number && range.begin <= joined.back().end) {
      joined.back().end = std::max(joined.back().end, range.end);
    } else {
      joined.push_back(range);
    }
  }
  return joined;
}

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_JOURNAL_NUMBER_RANGES_H_
