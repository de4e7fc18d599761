// SPDX-License-Identifier: Apache-2.0
// Reads by pread, for machines without io_uring.

#ifndef PONIENTE_IO_BLOCKING_READER_H_
#define PONIENTE_IO_BLOCKING_READER_H_

#include <span>

#include "io/pending_read.h"

namespace poniente::internal {

// Finishes all unfinished reads on this thread. Announces all of them to the
// kernel first, so that the disk works on them together.
void ReadBlocking(std::span<PendingRead> reads);

}  // namespace poniente::internal

#endif  // PONIENTE_IO_BLOCKING_READER_H_
