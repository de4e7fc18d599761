// SPDX-License-Identifier: Apache-2.0
// Creates rings, and checks whether this process may use io_uring.

#ifndef PONIENTE_IO_URING_URING_SETUP_H_
#define PONIENTE_IO_URING_URING_SETUP_H_

#include <liburing.h>

#include "absl/status/status.h"

namespace poniente::internal {

// Returns OK if this process may use io_uring for reads. Otherwise returns an
// error that names the failed call and its errno: Unavailable, which is
// permanent, or ResourceExhausted, which may be temporary.
absl::Status ProbeUring();

// Creates a ring with the best flags that the kernel accepts. If this returns
// OK, the caller must call TearDownRing().
absl::Status SetUpRing(unsigned entries, io_uring* ring);
void TearDownRing(io_uring* ring);

// Returns "io_uring_setup: Operation not permitted" and the like as
// Unavailable; as ResourceExhausted if descriptors or memory are short.
absl::Status UringError(const char* call, int error);

}  // namespace poniente::internal

#endif  // PONIENTE_IO_URING_URING_SETUP_H_
