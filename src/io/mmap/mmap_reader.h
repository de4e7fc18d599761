// SPDX-License-Identifier: Apache-2.0
// Reads by copying from mapped files.

#ifndef PONIENTE_IO_MMAP_MMAP_READER_H_
#define PONIENTE_IO_MMAP_MMAP_READER_H_

#include <span>

#include "io/pending_read.h"

namespace poniente::internal {

// Finishes all reads on this thread; their readers must have mappings. A page
// that is not in memory stalls the thread.
void ReadMapped(std::span<PendingRead> reads);

}  // namespace poniente::internal

#endif  // PONIENTE_IO_MMAP_MMAP_READER_H_
