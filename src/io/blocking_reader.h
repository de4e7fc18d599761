// SPDX-License-Identifier: Apache-2.0
// Reads with pread, for systems without io_uring.

#ifndef PONIENTE_IO_BLOCKING_READER_H_
#define PONIENTE_IO_BLOCKING_READER_H_

#include <span>

#include "io/pending_read.h"

namespace poniente::internal {

// Finishes all unfinished reads on this thread. First announces all of them to
// the kernel, so that the disk can work on several at once.
void ReadBlocking(std::span<PendingRead> reads);

}  // namespace poniente::internal

#endif  // PONIENTE_IO_BLOCKING_READER_H_
