// SPDX-License-Identifier: Apache-2.0
// Memory of batches, used again: pages stay present, and rings keep it
// registered.

#ifndef PONIENTE_LOADER_BATCH_MEMORY_H_
#define PONIENTE_LOADER_BATCH_MEMORY_H_

#include <cstddef>

#include "poniente/byte_reader.h"

namespace poniente::internal {

// At least `bytes`, page-aligned, holding anything. Throws std::bad_alloc.
// Any thread.
ReadBuffer TakeBatchMemory(size_t bytes);

// Hands it back. Up to 16 buffers and 256 MiB are kept for the next batches;
// the rest is freed, the oldest first. Any thread.
void ReturnBatchMemory(ReadBuffer memory);

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_BATCH_MEMORY_H_
