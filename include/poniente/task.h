// SPDX-License-Identifier: Apache-2.0
// Task<T>, the type that every coroutine of the library returns, and functions
// that run tasks: RunBlocking() from code that is not a coroutine, WhenAll()
// for several at once.

#ifndef PONIENTE_TASK_H_
#define PONIENTE_TASK_H_

#include <boost/asio/awaitable.hpp>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace poniente {

namespace internal {

template <class T>
struct TaskResult {
  using Type = absl::StatusOr<T>;
};
template <>
struct TaskResult<void> {
  using Type = absl::Status;
};

}  // namespace internal

// A lazy coroutine that returns a StatusOr<T>, or a Status if T is void.
//
// Start: does nothing until awaited. Await it once; a task that is never
//     awaited never runs.
// Threads: runs and resumes on the executor of the coroutine that awaits it,
//     never inside the call that completed it.
// Errors: a Status. No function of the library throws through a Task, except
//     what Asio itself throws in a cancelled coroutine, and std::bad_alloc. An
//     exception of a user's function becomes an Internal status.
// Cancellation: through the cancellation slot of the outermost co_spawn.
//     Waits for reads that the kernel is working on, then returns Cancelled. If
//     Asio notices the cancellation first, its operation_aborted is thrown
//     instead.
template <class T = void>
using Task = boost::asio::awaitable<typename internal::TaskResult<T>::Type>;

namespace internal {

// Runs `task` on this thread until it has ended.
void RunOnThisThread(boost::asio::awaitable<void> task);

// Returns the status that stands for an exception: Cancelled for Asio's
// operation_aborted, ResourceExhausted for bad_alloc, Internal otherwise.
absl::Status StatusFromException(std::exception_ptr exception);

// Returns ResourceExhausted without allocating memory.
absl::Status OutOfMemory();

template <class Result>
boost::asio::awaitable<void> Capture(boost::asio::awaitable<Result> task,
                                     std::optional<Result>* result) {
  try {
    Result value = co_await std::move(task);
    result->emplace(std::move(value));
  } catch (...) {
    result->emplace(StatusFromException(std::current_exception()));
  }
}

}  // namespace internal

// Runs `task` to its end on the calling thread and returns its result. The
// thread keeps its event loop (and its ring, if it read through one) for the
// next call. May be called anywhere, but inside a coroutine it blocks the
// coroutine's thread; use co_await there.
template <class Result>
Result RunBlocking(boost::asio::awaitable<Result> task) {
  std::optional<Result> result;
  try {
    internal::RunOnThisThread(internal::Capture(std::move(task), &result));
  } catch (...) {  // no descriptors for an event loop, or no memory for a wait
    if (!result.has_value()) {
      return internal::StatusFromException(std::current_exception());
    }
  }
  // Without a result, the event loop had no memory to continue the task.
  if (!result.has_value()) return internal::OutOfMemory();
  return *std::move(result);
}

// Runs all tasks concurrently on the caller's executor, waits for every one,
// and returns the first error in the order of `tasks`, not of time, so the
// result does not depend on scheduling. Cancellation is passed on to all of
// them.
Task<> WhenAll(std::vector<Task<>> tasks);

}  // namespace poniente

#endif  // PONIENTE_TASK_H_
