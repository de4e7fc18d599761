// SPDX-License-Identifier: Apache-2.0
// Tells a forked child from its parent, for resources that both must not use: a
// child inherits the descriptor of an io_uring but not its memory.

#ifndef PONIENTE_UTIL_FORK_COUNT_H_
#define PONIENTE_UTIL_FORK_COUNT_H_

namespace poniente::internal {

// Returns the number of forks between the process that called this first and
// the calling one. Cheap. Any thread.
int ForkCount();

}  // namespace poniente::internal

#endif  // PONIENTE_UTIL_FORK_COUNT_H_
