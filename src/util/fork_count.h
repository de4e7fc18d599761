// SPDX-License-Identifier: Apache-2.0
// Tells a forked child from its parent, for what must not be used in both: the
// memory of an io_uring is not inherited, its descriptor is.

#ifndef PONIENTE_UTIL_FORK_COUNT_H_
#define PONIENTE_UTIL_FORK_COUNT_H_

namespace poniente::internal {

// Forks between the process that called this first and the calling one. Cheap.
// Any thread.
int ForkCount();

}  // namespace poniente::internal

#endif  // PONIENTE_UTIL_FORK_COUNT_H_
