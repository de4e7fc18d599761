// SPDX-License-Identifier: Apache-2.0
// How many cores there are for the threads of a library.

#ifndef PONIENTE_UTIL_USABLE_CORES_H_
#define PONIENTE_UTIL_USABLE_CORES_H_

#include <string>

namespace poniente::internal {

// Returns on how many cores the calling thread, and so a thread that it starts,
// may run; at least 1. Unlike std::thread::hardware_concurrency(), counts only
// those that taskset, a container's cpuset or a job scheduler leave to it, and
// at most CoresOfQuota() when the process first asked.
unsigned UsableCores();

// Returns how many cores the processor time that control groups allow the
// process keeps busy, rounded up; UINT_MAX without such a limit. `root` is the
// folder that contains proc and sys; it is "" except in tests.
unsigned CoresOfQuota(const std::string& root = "");

}  // namespace poniente::internal

#endif  // PONIENTE_UTIL_USABLE_CORES_H_
