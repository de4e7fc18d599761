// SPDX-License-Identifier: Apache-2.0
// How many cores there are for the threads of a library.

#ifndef PONIENTE_UTIL_USABLE_CORES_H_
#define PONIENTE_UTIL_USABLE_CORES_H_

namespace poniente::internal {

// Returns on how many cores the calling thread, and so a thread that it starts,
// may run; at least 1. Unlike std::thread::hardware_concurrency(), counts only
// those that taskset, a container's cpuset or a job scheduler leave to it.
unsigned UsableCores();

}  // namespace poniente::internal

#endif  // PONIENTE_UTIL_USABLE_CORES_H_
