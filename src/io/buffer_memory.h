// SPDX-License-Identifier: Apache-2.0
// The memory of buffers that are read into: in huge pages, as far as there are
// any. A disk writes into a huge page in one piece, where each small one is a
// piece of its own.

#ifndef PONIENTE_IO_BUFFER_MEMORY_H_
#define PONIENTE_IO_BUFFER_MEMORY_H_

#include <cstddef>

#include "absl/status/statusor.h"

namespace poniente::internal {

// Returns page-aligned memory of whole pages, filled with zeros; it is mapped,
// and takes memory when it is written. ResourceExhausted if there is none.
// Release it with munmap().
absl::StatusOr<std::byte*> MapMemory(size_t bytes);

// Returns page-aligned memory, filled with zeros, for a buffer that is filled
// again and again; ResourceExhausted if there is none.
//
// Sizes from 2 MiB on have huge pages of their own. Smaller ones from 64 KiB on
// share them, in multiples of 64 KiB, so up to 2 MiB of memory are taken beyond
// what is in use, and more after much of it was given back in another order
// than it was taken.
//
// Give it back with FreeMemory(), with the same size.
absl::StatusOr<std::byte*> AllocateMemory(size_t bytes);
void FreeMemory(std::byte* begin, size_t bytes);

}  // namespace poniente::internal

#endif  // PONIENTE_IO_BUFFER_MEMORY_H_
