// SPDX-License-Identifier: Apache-2.0
// Runs the functions of datasets on several threads.

#ifndef PONIENTE_EXTEND_WORKER_THREADS_H_
#define PONIENTE_EXTEND_WORKER_THREADS_H_

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/task.h"

namespace poniente::internal {

// Threads that call the functions of datasets.
//
// Thread safety: any number of threads and executors.
class WorkerThreads {
 public:
  // Returns null, for the caller's thread, if `threads` is below 2.
  static std::shared_ptr<WorkerThreads> Create(uint32_t threads);
  // Returns this number.
  uint32_t threads() const;
  // Waits for the calls in progress.
  ~WorkerThreads();

  // Calls call(0), ..., call(count - 1) on the threads, each in turn taking the
  // next number, and waits for all of them. Returns the error of the lowest
  // number that fails, and writes this number to `failed`. After an error,
  // higher numbers may be left out. `call` must own what it uses.
  // Cancellation: waits for the calls in progress, then returns Cancelled.
  Task<> ForEach(size_t count, std::function<absl::Status(size_t)> call,
                 size_t* failed);

 private:
  class Impl;
  explicit WorkerThreads(uint32_t threads);

  const std::unique_ptr<Impl> impl_;
};

// Returns InvalidArgument if `parallel` is above 1024, for the dataset of this
// name.
absl::Status CheckParallel(std::string_view dataset, uint32_t parallel);

// Return the error of a function of the user's: Internal in place of Cancelled,
// which only the caller decides.
absl::Status ErrorOfFunction(absl::Status error);
absl::Status ErrorOfFunction(std::exception_ptr exception);

// Calls a function of the user's. Returns the status that stands for an
// exception.
template <class Out, class Function, class In>
absl::StatusOr<Out> CallFunction(const Function& function, In in) {
  try {
    absl::StatusOr<Out> made = function(std::move(in));
    if (!made.ok()) return ErrorOfFunction(made.status());
    return made;
  } catch (...) {
    return ErrorOfFunction(std::current_exception());
  }
}

}  // namespace poniente::internal

#endif  // PONIENTE_EXTEND_WORKER_THREADS_H_
