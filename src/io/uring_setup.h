// SPDX-License-Identifier: Apache-2.0
// Makes rings, and finds out whether this process may have any.

#ifndef PONIENTE_IO_URING_SETUP_H_
#define PONIENTE_IO_URING_SETUP_H_

#include <liburing.h>

#include "absl/status/status.h"

namespace poniente::internal {

// OK if this process may use io_uring for reads, else Unavailable with the
// call and its errno. Tried once per process.
absl::Status ProbeUring();

// Makes a ring with the best flags that the kernel takes. After OK the caller
// owns it (io_uring_queue_exit).
absl::Status SetUpRing(unsigned entries, io_uring* ring);

// "io_uring_setup: Operation not permitted", Unavailable.
absl::Status UringError(const char* call, int error);

}  // namespace poniente::internal

#endif  // PONIENTE_IO_URING_SETUP_H_
