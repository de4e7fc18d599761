// SPDX-License-Identifier: Apache-2.0
// Reads by copying from mapped files.

#ifndef PONIENTE_IO_MMAP_MMAP_READER_H_
#define PONIENTE_IO_MMAP_MMAP_READER_H_

#include <span>

#include "io/pending_read.h"

namespace poniente::internal {

// Finishes all reads on this thread. A page that is not in memory stalls it.
// REQUIRES: the files of the reads are mapped.
void ReadMapped(std::span<PendingRead> reads);

}  // namespace poniente::internal

#endif  // PONIENTE_IO_MMAP_MMAP_READER_H_
