// SPDX-License-Identifier: Apache-2.0
// The sizes by which memory is handed out and cached.

#ifndef PONIENTE_UTIL_MEMORY_SIZES_H_
#define PONIENTE_UTIL_MEMORY_SIZES_H_

#include <cstddef>

namespace poniente::internal {

// A page of memory, and the unit that direct I/O is aligned to here.
inline constexpr size_t kPageBytes = 4096;
// A line of the processor's caches.
inline constexpr size_t kLineBytes = 64;

}  // namespace poniente::internal

#endif  // PONIENTE_UTIL_MEMORY_SIZES_H_
