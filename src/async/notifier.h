// SPDX-License-Identifier: Apache-2.0
// Lets coroutines wait until something has changed, without polling.

#ifndef PONIENTE_ASYNC_NOTIFIER_H_
#define PONIENTE_ASYNC_NOTIFIER_H_

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <cstdint>
#include <list>
#include <memory>

#include "async/parked_coroutine.h"
#include "poniente/task.h"
#include "util/mutex.h"

namespace poniente::internal {

// A counter that coroutines wait on. Use it like this, so that no change is
// lost:
//
//   while (true) {
//     const uint64_t seen = notifier.version();
//     if (state is as wanted) break;
//     absl::Status waited = co_await notifier.WaitPast(seen);
//     if (!waited.ok()) co_return waited;
//   }
//
// Ownership: must outlive its waiters. If an execution context is destroyed,
//     the waiting coroutines of that context are dropped.
// Thread safety: any thread, any executor; waiters resume on their own
//     executor.
// Cancellation: terminal; the waiter receives Cancelled, and the notifier
//     forgets it.
class Notifier {
 public:
  Notifier();
  ~Notifier();
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  // Takes no lock, so that callers may look at it again and again.
  uint64_t version() const {
    // Acquire: a caller sees what was written before NotifyAll().
    return version_.load(std::memory_order_acquire);
  }

  // Raises the version and resumes all waiters.
  void NotifyAll();

  // Waits until the version is above `seen`.
  Task<> WaitPast(uint64_t seen);
  // Waits until then, also if it is cancelled, where that does not throw. Never
  // returns an error.
  Task<> WaitPastToEnd(uint64_t seen);
  // Returns a wait until then that throws nothing once it is awaited, by a
  // coroutine of that executor that is not thrown at by its cancellation. It
  // returns false if the slot is told first to cancel; a slot of none is never
  // told.
  boost::asio::awaitable<bool> PreparedWaitPast(
      uint64_t seen, boost::asio::any_io_executor executor,
      boost::asio::cancellation_slot slot);
  // Blocks the thread until then. Allocates nothing.
  void BlockPast(uint64_t seen);

 private:
  // Moved and joined without allocating.
  using Waiters = std::list<std::shared_ptr<ParkedCoroutine>>;

  void Park(uint64_t seen, Waiters waiter, ParkedCoroutine::Handler&& handler);
  void Cancel(const std::shared_ptr<ParkedCoroutine>& waiter);

  mutable Mutex mu_;
  std::atomic<uint64_t> version_ = 0;  // written under mu_
  Waiters waiters_ ABSL_GUARDED_BY(mu_);
  ConditionVariable changed_;  // for those in BlockPast()
};

}  // namespace poniente::internal

#endif  // PONIENTE_ASYNC_NOTIFIER_H_
