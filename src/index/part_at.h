// SPDX-License-Identifier: Apache-2.0
// Where a number lies among parts that follow one another.

#ifndef PONIENTE_INDEX_PART_AT_H_
#define PONIENTE_INDEX_PART_AT_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>

namespace poniente::internal {

// Returns the last of the parts that begin at or before `at`; `begin` is the
// member that says where a part begins. O(log parts). REQUIRES: parts are in
// the order of their beginnings, and the first begins at or before `at`.
template <class Parts, class Begin>
const auto& PartAt(const Parts& parts, uint64_t at, Begin begin) {
  return *std::prev(std::upper_bound(parts.begin(), parts.end(), at,
                                     [&](uint64_t place, const auto& part) {
                                       return place < std::invoke(begin, part);
                                     }));
}

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_PART_AT_H_
