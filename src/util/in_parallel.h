// SPDX-License-Identifier: Apache-2.0
// Runs many small tasks of the same kind on many threads.

#ifndef PONIENTE_UTIL_IN_PARALLEL_H_
#define PONIENTE_UTIL_IN_PARALLEL_H_

#include <cstddef>
#include <functional>

namespace poniente::internal {

// Calls `each` once for every number below `count`, on this thread and others,
// and waits for all calls. Tasks mostly wait for a disk: it uses a thread for
// every 8 of them, at most 64, but no fewer than there are cores (at most 16)
// or tasks. If a call throws, throws the first exception; some calls may then
// not have been made.
void InParallel(size_t count, const std::function<void(size_t)>& each);

}  // namespace poniente::internal

#endif  // PONIENTE_UTIL_IN_PARALLEL_H_
