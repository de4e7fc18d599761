// SPDX-License-Identifier: Apache-2.0
// Reads by pread, for where there is no io_uring.

#ifndef PONIENTE_IO_BLOCKING_READER_H_
#define PONIENTE_IO_BLOCKING_READER_H_

#include <span>

#include "io/pending_read.h"

namespace poniente::internal {

// Finishes all reads that are not finished, on this thread: tells the kernel
// about all of them first, so that the disk works on them together.
void ReadBlocking(std::span<PendingRead> reads);

}  // namespace poniente::internal

#endif  // PONIENTE_IO_BLOCKING_READER_H_
