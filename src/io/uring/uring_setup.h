// SPDX-License-Identifier: Apache-2.0
// Makes rings, and finds out whether this process may have any.

#ifndef PONIENTE_IO_URING_URING_SETUP_H_
#define PONIENTE_IO_URING_URING_SETUP_H_

#include <liburing.h>

#include "absl/status/status.h"

namespace poniente::internal {

// OK if this process may use io_uring for reads, else the call and its errno:
// Unavailable, tried once per process, or ResourceExhausted, which may pass.
absl::Status ProbeUring();

// Makes a ring with the best flags that the kernel takes. After OK the caller
// owns it (TearDownRing).
absl::Status SetUpRing(unsigned entries, io_uring* ring);
void TearDownRing(io_uring* ring);

// "io_uring_setup: Operation not permitted", Unavailable; ResourceExhausted
// where descriptors or memory are short.
absl::Status UringError(const char* call, int error);

}  // namespace poniente::internal

#endif  // PONIENTE_IO_URING_URING_SETUP_H_
