// SPDX-License-Identifier: Apache-2.0
// One thread only.
#include "bench/measure/heap_bytes.h"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace poniente::bench {
namespace {

size_t held = 0;
size_t peak = 0;

void* Allocate(size_t size) {
  void* const memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  held += malloc_usable_size(memory);
  peak = std::max(peak, held);
  return memory;
}

void Free(void* memory) {
  held -= malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace

size_t HeapBytes() { return held; }
size_t HeapPeak() { return peak; }
void ResetHeapPeak() { peak = held; }

}  // namespace poniente::bench

void* operator new(size_t size) { return poniente::bench::Allocate(size); }
void operator delete(void* memory) noexcept { poniente::bench::Free(memory); }
void operator delete(void* memory, size_t) noexcept {
  poniente::bench::Free(memory);
}
