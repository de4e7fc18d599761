// SPDX-License-Identifier: Apache-2.0
// Runs functions that block for coroutines whose thread must not.

#ifndef PONIENTE_ASYNC_BLOCKING_THREADS_H_
#define PONIENTE_ASYNC_BLOCKING_THREADS_H_

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "poniente/task.h"
#include "util/mutex.h"

namespace poniente::internal {

// A few threads, started by the first call. If the system does not give as
// many, there are fewer; if it gives none, calls run on the caller's thread.
//
// Thread safety: any number of threads and executors.
class BlockingThreads {
 public:
  explicit BlockingThreads(size_t threads);
  // Waits for the calls that have started; drops the others.
  ~BlockingThreads();
  BlockingThreads(const BlockingThreads&) = delete;
  BlockingThreads& operator=(const BlockingThreads&) = delete;

  // Runs `call` and returns its status; an exception becomes a status. The
  // caller resumes on its own executor.
  //
  // Cancellation: terminal; the caller receives Cancelled at once, but `call`
  //     may still run until this object is destroyed, so it must own what it
  //     uses, or borrow it from something that lives longer than this object.
  Task<> Run(std::function<absl::Status()> call);

  // Does the same to the end, also if it is cancelled, so that `call` may
  // borrow from the caller's frame.
  Task<> RunToEnd(std::function<absl::Status()> call);

  // Runs `work` on one of the threads, some time before this object is
  // destroyed, or not at all. Returns false, and does not run it, if no thread
  // can be started.
  bool Post(std::function<void()> work);

 private:
  // Returns whether there is a thread.
  bool StartThreads() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const size_t num_threads_;
  boost::asio::io_context context_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type>
      has_work_;
  Mutex mu_;
  std::vector<std::thread> threads_ ABSL_GUARDED_BY(mu_);
};

}  // namespace poniente::internal

#endif  // PONIENTE_ASYNC_BLOCKING_THREADS_H_
