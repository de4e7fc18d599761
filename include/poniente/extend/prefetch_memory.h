// SPDX-License-Identifier: Apache-2.0
// Brings memory into the cache before it is used.

#ifndef PONIENTE_EXTEND_PREFETCH_MEMORY_H_
#define PONIENTE_EXTEND_PREFETCH_MEMORY_H_

#include <algorithm>
#include <cstddef>

namespace poniente::internal {

// Begins to bring `bytes` bytes into the cache, `most` of them at most.
inline void PrefetchMemory(const void* begin, size_t bytes, size_t most) {
  constexpr size_t kLine = 64;
  const char* const first = static_cast<const char*>(begin);
  for (size_t at = 0; at < std::min(bytes, most); at += kLine) {
    __builtin_prefetch(first + at);
  }
  // g++ takes a function that only prefetches for one without effects, and
  // leaves out its calls.
  asm volatile("");
}

}  // namespace poniente::internal

#endif  // PONIENTE_EXTEND_PREFETCH_MEMORY_H_
