// SPDX-License-Identifier: Apache-2.0
// Runs many small tasks of the same kind on all cores.

#ifndef PONIENTE_STORE_IN_PARALLEL_H_
#define PONIENTE_STORE_IN_PARALLEL_H_

#include <cstddef>
#include <functional>
#include <span>

#include "absl/status/status.h"

namespace poniente::internal {

// What a task spends its time on.
enum class TaskKind {
  kComputes,  // as many threads as the machine has cores, at most 16
  kWaits,     // for a disk: up to 64 threads, one for each 8 tasks
};

// Calls `each` once for every number below `count`, on this thread and others,
// and waits for all calls. If a call throws, throws the first exception; some
// calls may then not have been made.
void InParallel(size_t count, const std::function<void(size_t)>& each,
                TaskKind kind = TaskKind::kComputes);

// Returns OK if all statuses are OK; else an error with the code of the first
// one and all messages, a few lines for those that are alike
// (JoinAlikeLines()).
absl::Status JoinErrors(std::span<const absl::Status> statuses);

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_IN_PARALLEL_H_
