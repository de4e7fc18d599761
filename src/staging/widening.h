// SPDX-License-Identifier: Apache-2.0
// Ids that are copied to a device as they are stored and widened there.

#ifndef PONIENTE_STAGING_WIDENING_H_
#define PONIENTE_STAGING_WIDENING_H_

#include <cstdint>

namespace poniente::internal {

// The number of unsigned ids to widen, and their sizes before and after.
struct Widening {
  uint64_t count = 0;       // 0: none
  uint32_t from_bytes = 0;  // 1, 2 or 4
  uint32_t to_bytes = 0;    // 2, 4 or 8

  uint64_t bytes_before() const { return count * from_bytes; }
  uint64_t bytes_after() const { return count * to_bytes; }
};

}  // namespace poniente::internal

#endif  // PONIENTE_STAGING_WIDENING_H_
