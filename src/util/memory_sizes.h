// SPDX-License-Identifier: Apache-2.0
// Sizes in which memory is allocated and cached.

#ifndef PONIENTE_UTIL_MEMORY_SIZES_H_
#define PONIENTE_UTIL_MEMORY_SIZES_H_

#include <cstddef>

namespace poniente::internal {

// A page of memory. Also the alignment that this library uses for direct I/O.
inline constexpr size_t kPageBytes = 4096;
// A line of the processor's caches.
inline constexpr size_t kLineBytes = 64;

}  // namespace poniente::internal

#endif  // PONIENTE_UTIL_MEMORY_SIZES_H_
