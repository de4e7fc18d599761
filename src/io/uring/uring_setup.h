// SPDX-License-Identifier: Apache-2.0
// Creates rings, and finds out whether this process may have any.

#ifndef PONIENTE_IO_URING_URING_SETUP_H_
#define PONIENTE_IO_URING_URING_SETUP_H_

#include <liburing.h>

#include "absl/status/status.h"

namespace poniente::internal {

// Returns OK if this process may use io_uring for reads, else an error with the
// call and its errno: Unavailable, which is determined once per process, or
// ResourceExhausted, which may pass.
absl::Status ProbeUring();

// Creates a ring with the best flags that the kernel accepts. After OK the
// caller owns it (TearDownRing()).
absl::Status SetUpRing(unsigned entries, io_uring* ring);
void TearDownRing(io_uring* ring);

// Returns "io_uring_setup: Operation not permitted" and the like as
// Unavailable; as ResourceExhausted if descriptors or memory are short.
absl::Status UringError(const char* call, int error);

}  // namespace poniente::internal

#endif  // PONIENTE_IO_URING_URING_SETUP_H_
