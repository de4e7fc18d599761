// SPDX-License-Identifier: Apache-2.0
// Task<T>: what every coroutine of the library returns, and how plain code
// runs one to its end.

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

// A lazy coroutine that gives a StatusOr<T>, or a Status where T is void.
//
// Start: does nothing until awaited. Await it once; one that is never awaited
//     never runs.
// Threads: runs and resumes on the executor of the coroutine that awaits it,
//     never inside the call that completed it.
// Errors: a Status. No function of the library throws through a Task but what
//     Asio itself throws in a cancelled coroutine; what a user's own function
//     throws arrives as an Internal status.
// Cancellation: Asio's, by the cancellation slot of the outermost co_spawn;
//     gives Cancelled, or Asio's operation_aborted where the coroutine had been
//     cancelled before it asked. Reads in the kernel's hands are waited for.
template <class T = void>
using Task = boost::asio::awaitable<typename internal::TaskResult<T>::Type>;

namespace internal {

// Runs `task` on this thread until it has ended.
void RunOnThisThread(boost::asio::awaitable<void> task);

// The status that stands for an exception: Cancelled for Asio's
// operation_aborted, ResourceExhausted for bad_alloc, Internal otherwise.
absl::Status StatusFromException(std::exception_ptr exception);

// Needs no memory itself.
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

// Runs `task` to its end on the calling thread, and gives what it gave. The
// thread keeps its event loop (and its ring, if it read through one) for the
// next call. May be called anywhere, but inside a coroutine it blocks that
// coroutine's thread: co_await there.
template <class Result>
Result RunBlocking(boost::asio::awaitable<Result> task) {
  std::optional<Result> result;
  try {
    internal::RunOnThisThread(internal::Capture(std::move(task), &result));
  } catch (...) {  // no descriptors left for an event loop
    return internal::StatusFromException(std::current_exception());
  }
  // Else the event loop had no memory to go on with it.
  if (!result.has_value()) return internal::OutOfMemory();
  return *std::move(result);
}

// Runs all tasks together on the caller's executor, waits for every one, and
// gives the first error in the order of `tasks` (not of time), so the answer
// does not depend on scheduling. Cancellation is passed on to all of them.
Task<> WhenAll(std::vector<Task<>> tasks);

}  // namespace poniente

#endif  // PONIENTE_TASK_H_
