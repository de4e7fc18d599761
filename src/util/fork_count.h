// SPDX-License-Identifier: Apache-2.0
// Distinguishes a forked child from its parent, for resources that a child must
// not use: it inherits the descriptor of an io_uring, but not its memory.

#ifndef PONIENTE_UTIL_FORK_COUNT_H_
#define PONIENTE_UTIL_FORK_COUNT_H_

namespace poniente::internal {

// Returns the number of forks between the process that called this first and
// the calling process. Cheap; any thread may call it.
int ForkCount();

}  // namespace poniente::internal

#endif  // PONIENTE_UTIL_FORK_COUNT_H_
