// SPDX-License-Identifier: Apache-2.0
// The thread on which a loader makes batches ahead.

#ifndef PONIENTE_LOADER_PREFETCH_THREAD_H_
#define PONIENTE_LOADER_PREFETCH_THREAD_H_

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <optional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "loader/metrics/thread_times.h"
#include "poniente/metrics.h"
#include "util/mutex.h"

namespace poniente::internal {

// Runs an event loop on a thread of its own. Where all work has ended, so that
// only the consumer can bring more, the thread looks out for it for a while
// before it sleeps (ShortSpin).
//
// Thread safety: Start() and Join() are called once, the rest from any thread.
class PrefetchThread {
 public:
  // All are called on the thread.
  struct Hooks {
    // Whether work that was given to context() has not ended.
    std::function<bool()> has_work;
    // Called before the thread sleeps although there is work, which waits for
    // something outside. May be null.
    std::function<void()> on_wait;
    // Called when Asio itself had no memory. What it had none for is lost: work
    // that will not end, a wait that is not over.
    std::function<void()> on_loss;
  };
  explicit PrefetchThread(Hooks hooks);

  // What the hooks use must be there.
  void Start();
  // Runs what was given to context() before, and ends the thread.
  void Join();

  boost::asio::io_context& context() { return context_; }

  // Adds the thread's time to the metrics.
  void AddTimes(LoaderMetrics* metrics) const;

 private:
  void Run();

  const Hooks hooks_;
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type>
      work_;
  std::thread thread_;
  mutable Mutex mu_;
  std::optional<ThreadTimes> times_ ABSL_GUARDED_BY(mu_);
};

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_PREFETCH_THREAD_H_
