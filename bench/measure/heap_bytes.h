// SPDX-License-Identifier: Apache-2.0
// Heap memory of the program, counted by its own operator new.

#ifndef PONIENTE_BENCH_MEASURE_HEAP_BYTES_H_
#define PONIENTE_BENCH_MEASURE_HEAP_BYTES_H_

#include <cstddef>

namespace poniente::bench {

size_t HeapBytes();
// The most since the last ResetHeapPeak().
size_t HeapPeak();
void ResetHeapPeak();

}  // namespace poniente::bench

#endif  // PONIENTE_BENCH_MEASURE_HEAP_BYTES_H_
