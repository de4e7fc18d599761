// SPDX-License-Identifier: Apache-2.0
// The same small work for many things, on all cores.

#ifndef PONIENTE_STORE_IN_PARALLEL_H_
#define PONIENTE_STORE_IN_PARALLEL_H_

#include <cstddef>
#include <functional>
#include <span>

#include "absl/status/status.h"

namespace poniente::internal {

// Calls `each` once for every number below `count`, from this thread and others
// (as many as the machine has cores, at most 16); returns when all calls have.
// Throws what one of them threw first; others may not have been made then.
void InParallel(size_t count, const std::function<void(size_t)>& each);

// OK if all are; else the code of the first that is not, and the messages of
// the first hundred, a line each.
absl::Status JoinErrors(std::span<const absl::Status> statuses);

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_IN_PARALLEL_H_
