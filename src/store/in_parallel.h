// SPDX-License-Identifier: Apache-2.0
// Runs the same small task for many things, on all cores.

#ifndef PONIENTE_STORE_IN_PARALLEL_H_
#define PONIENTE_STORE_IN_PARALLEL_H_

#include <cstddef>
#include <functional>
#include <span>

#include "absl/status/status.h"

namespace poniente::internal {

// Calls `each` once for every number below `count`, on this thread and others
// (as many as the machine has cores, at most 16), and returns once all calls
// have. Throws the first exception that a call threw; the remaining calls may
// then not have been made.
void InParallel(size_t count, const std::function<void(size_t)>& each);

// Returns OK if all statuses are; else the code of the first error, and the
// messages of the first hundred, one line each.
absl::Status JoinErrors(std::span<const absl::Status> statuses);

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_IN_PARALLEL_H_
