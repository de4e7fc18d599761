// SPDX-License-Identifier: Apache-2.0
// A second ring for an execution context, on a thread of its own.

#ifndef PONIENTE_IO_URING_SECOND_RING_H_
#define PONIENTE_IO_URING_SECOND_RING_H_

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution_context.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "absl/base/thread_annotations.h"
#include "async/notifier.h"
#include "io/hit_share.h"
#include "io/pending_read.h"
#include "io/read_ends.h"
#include "poniente/task.h"
#include "util/mutex.h"

namespace poniente::internal {

// Makes half of the reads that go through the page cache, in batches of which
// the disk must bring most. The kernel spends 15 to 30 us of processor time in
// each of these reads, on the thread that submits it, so one thread cannot keep
// a fast disk busy.
//
// Ownership: a service of its context; destroyed with it, when its reads have
//     ended. The first reads start its thread, if the thread that asks for them
//     may run on two cores or more, and if the process has fewer such threads
//     than these cores.
// Thread safety: any thread.
// Forks: a forked child has no such thread; it makes all reads itself.
// Errors: reads that the second ring cannot make stay unfinished, and it gets
//     no more.
class SecondRing final : public boost::asio::execution_context::service {
 public:
  static inline boost::asio::execution_context::id id;

  // Returns the second ring of the executor's context.
  static SecondRing& Of(const boost::asio::any_io_executor& executor);

  // For Asio only.
  explicit SecondRing(boost::asio::execution_context& context);
  ~SecondRing() override;

  // Returns how many of a batch's reads, from its end, the second ring should
  // make: as many as have half of those through the page cache.
  size_t ShareOf(std::span<const PendingRead> reads) const;
  // Records what the page cache had of a batch.
  void Learn(const Hits& hits);

 private:
  friend class SecondBatch;
  class Thread;

  void shutdown() override;
  bool IsForked() const;
  // Forgets the thread without touching it.
  void ForgetThread() ABSL_NO_THREAD_SAFETY_ANALYSIS;
  // Starts the thread if there is none. Returns null if there can be none, or
  // no ring.
  Thread* Start();
  // Has later batches read without the second ring.
  void GiveUp() { works_.store(false, std::memory_order_relaxed); }

  const int forks_;  // at creation
  // Relaxed: a thread that sees it late gives the second ring one batch more.
  std::atomic<bool> works_ = true;
  // A batch of 8 known reads has half of the weight; each ring's short call of
  // a batch tells of 8.
  HitShare hit_share_{/*initial=*/1, /*memory=*/8};
  Mutex mu_;
  std::unique_ptr<Thread> thread_ ABSL_GUARDED_BY(mu_);
};

// The reads of one ReadBatch() that the second ring makes.
//
// Ownership: borrows the reads. If it is destroyed before Wait() has ended, the
//     destructor blocks until all its reads are done.
// Thread safety: belongs to one coroutine.
class SecondBatch {
 public:
  // Has the second ring begin with the reads, if there are any and it can.
  SecondBatch(SecondRing* ring, std::span<PendingRead> reads);
  ~SecondBatch();
  SecondBatch(const SecondBatch&) = delete;
  SecondBatch& operator=(const SecondBatch&) = delete;

  // Returns how many reads it has begun with: all, or none if there is no
  // memory, thread or ring for them.
  size_t num_reads() const { return num_reads_; }
  bool IsDone() const;
  // Resumes on the caller's executor when the second ring is done with all
  // reads. Never fails, and cancellation does not interrupt it. REQUIRES:
  // IsDone() returned false.
  Task<> Wait() { return done_->WaitPastToEnd(0); }

 private:
  class Reads;

  SecondRing* const ring_;
  // Notified at the end of the reads; null if there are none.
  std::shared_ptr<Notifier> done_;
  size_t num_reads_ = 0;
};

}  // namespace poniente::internal

#endif  // PONIENTE_IO_URING_SECOND_RING_H_
