// SPDX-License-Identifier: Apache-2.0
// The io_uring of an Asio execution context.

#ifndef PONIENTE_IO_URING_URING_RING_H_
#define PONIENTE_IO_URING_URING_RING_H_

#include <liburing.h>

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "io/pending_read.h"
#include "io/uring/call_sizes.h"
#include "io/uring/ring_registry.h"
#include "io/uring/uring_tables.h"
#include "util/mutex.h"

namespace poniente::internal {

class UringRing;

// Runs the reactor's handlers immediately, on a thread that runs the context.
// So the ring does not depend on an executor of the user, such as a strand,
// which could delay its completions, and works with every kind of context.
class ReactorExecutor {
 public:
  explicit ReactorExecutor(boost::asio::execution_context& context) noexcept
      : context_(&context) {}

  boost::asio::execution_context& query(
      boost::asio::execution::context_t) const noexcept {
    return *context_;
  }
  template <class Function>
  void execute(Function&& function) const {
    std::forward<Function>(function)();
  }
  friend bool operator==(ReactorExecutor, ReactorExecutor) noexcept = default;

 private:
  boost::asio::execution_context* context_;
};

// What waits until a batch is done: a coroutine, or a SecondBatch.
class UringWaiter {
 public:
  virtual ~UringWaiter() = default;
  // Called once, when the batch is done. Resumes a coroutine on its own
  // executor.
  virtual void Resume() = 0;

 private:
  friend class UringWaiters;

  std::unique_ptr<UringWaiter> next_;
};

// Those whose batch is done. Adding one allocates nothing.
class UringWaiters {
 public:
  UringWaiters() = default;
  UringWaiters(UringWaiters&&) = delete;
  ~UringWaiters() {
    Take([](UringWaiter&) {});
  }

  void Add(std::unique_ptr<UringWaiter> waiter) {
    std::unique_ptr<UringWaiter>* const end =
        last_ == nullptr ? &first_ : &last_->next_;
    last_ = waiter.get();
    *end = std::move(waiter);
  }
  void Swap(UringWaiters* other) {
    std::swap(first_, other->first_);
    std::swap(last_, other->last_);
  }
  // Resumes and removes all.
  void ResumeAll() {
    Take([](UringWaiter& waiter) { waiter.Resume(); });
  }

 private:
  template <class Function>
  void Take(Function function) {
    last_ = nullptr;
    while (first_ != nullptr) {
      const std::unique_ptr<UringWaiter> waiter = std::move(first_);
      first_ = std::move(waiter->next_);
      function(*waiter);
    }
  }

  std::unique_ptr<UringWaiter> first_;
  UringWaiter* last_ = nullptr;
};

// The reads of one ReadBatch() that go through a ring.
//
// Ownership: borrows the ring and the reads. If it is destroyed before Wait()
//     has ended (by an exception), the destructor blocks until all its reads
//     are done.
// Thread safety: belongs to one coroutine or waiter; the ring's members are
//     under its lock.
class UringBatch {
 public:
  UringBatch(UringRing* ring, std::span<PendingRead> reads);
  ~UringBatch();
  UringBatch(const UringBatch&) = delete;
  UringBatch& operator=(const UringBatch&) = delete;

  // Submits the reads to the kernel, as many as there is room for, and takes
  // the completions. Returns true if nothing is left to wait for: all reads are
  // complete, or the ring takes no reads (see UringRing). Call it once.
  bool Start();
  // Resumes on the caller's executor when all reads are done. Cancellation does
  // not interrupt it, because the kernel owns the buffers. REQUIRES: Start()
  // returned false.
  boost::asio::awaitable<void> Wait();
  // Resumes the waiter when all reads are done. REQUIRES: as for Wait().
  void Park(std::unique_ptr<UringWaiter> waiter);

  // Returns whether all reads are finished, not just given up. REQUIRES: all
  // are done.
  bool is_complete() const;

 private:
  friend class UringRing;

  // Moves next_ past finished reads.
  void SkipFinished();

  UringRing* const ring_;
  const std::span<PendingRead> reads_;
  // Under the ring's lock.
  size_t next_ = 0;                      // first read not yet prepared
  size_t unfinished_ = 0;                // reads neither finished nor refused
  std::unique_ptr<UringWaiter> waiter_;  // while in the ring's parked_
};

// The ring of an execution context, created at the first use.
//
// Ownership: a service of its context; destroyed with it. shutdown() blocks
//     until the kernel is done with every buffer, then destroys the suspended
//     coroutines.
// Thread safety: one lock, held while submitting and reaping. Designed for one
//     thread per context; several threads are safe but take turns.
// Forks: in a forked child, the ring takes no reads and does not touch the
//     parent's ring.
// Memory: what a batch needs is allocated before its reads are counted; after
//     that, nothing on the way to its last completion allocates.
// Errors: an error of a read is the status of the read. If the ring itself
//     fails (it cannot be created, or the kernel refuses submissions), reads
//     stay unfinished, and status() says why. The caller must then serve them
//     in another way.
class UringRing final : public boost::asio::execution_context::service,
                        private RingRegistrant {
 public:
  static inline boost::asio::execution_context::id id;

  // Returns the ring of the executor's context.
  static UringRing& Of(const boost::asio::any_io_executor& executor);

  // For Asio only.
  explicit UringRing(boost::asio::execution_context& context);
  ~UringRing() override;

  // Returns OK while the ring takes reads.
  absl::Status status() const;
  // Leaves locked memory to other rings: it is limited, and reads through the
  // page cache gain nothing from it.
  void DoNotRegisterBuffers();

 private:
  friend class UringBatch;

  // Largest number of reads in flight. The completion queue has twice as many
  // entries, so it never overflows.
  static constexpr unsigned kEntries = 1024;
  // Reads after which Pump() leaves the thread to what else there is to do, if
  // the disk is busy: with these reads, and with at least so many. A completion
  // will then call it again.
  static constexpr size_t kReadsOfTurn = 128;
  static constexpr size_t kBusy = 64;

  void shutdown() override;
  void ForgetFile(uint64_t file) override;
  void ForgetBuffer(uint64_t buffer) override;
  // Returns whether this process is a child of the one that created the ring.
  bool IsForked() const;
  // Part of the constructor: creates the eventfd and registers it.
  absl::Status SetUp(boost::asio::execution_context& context)
      ABSL_NO_THREAD_SAFETY_ANALYSIS;

  bool Start(UringBatch* batch);
  // Resumes the waiter when the batch is done. Blocks until then if there is no
  // memory for parking it.
  void Park(UringBatch* batch, std::unique_ptr<UringWaiter> waiter);
  // Adds the batch to those that OnEvent() completes. Returns false if there is
  // no memory for that.
  bool MayPark(UringBatch* batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Blocks until the batch is done.
  void WaitInPlace(UringBatch* batch);
  // Handles a signal of the eventfd.
  void OnEvent(const boost::system::error_code& error);

  // Submits reads while there are reads and room for them, for about a
  // millisecond, and takes completions.
  void Pump() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Moves reads into the submission queue, up to the size of one call.
  void Prepare() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void PrepareOne(const PendingRead& read, io_uring_sqe* sqe)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Return the next read to submit, or null; NextRead() also removes it.
  PendingRead* PeekRead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  PendingRead* NextRead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Submits reads. Returns false if another attempt is useless before the next
  // completion.
  bool Submit() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Counts the first `reads` of prepared_ as taken by the kernel.
  void CountSubmission(size_t reads) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes all completions. Reads of call number `submission` count as hits.
  void Reap(uint64_t submission) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Counts one read of the batch as done.
  void OneLess(UringBatch* batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Stops the ring: all reads that are not in flight, now or later, stay
  // unfinished.
  void GiveUp(const char* call, int error)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WaitForCompletion() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Starts a read of the eventfd, unless one is in progress. Returns false if
  // there is no memory for it.
  bool Arm() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  bool has_ring_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<bool> is_listed_ = false;  // by AddRing()
  const int forks_;  // at creation: a child does not inherit the ring's memory
  io_uring ring_ ABSL_GUARDED_BY(mutex_);
  UringTables tables_ ABSL_GUARDED_BY(mutex_);
  bool uses_buffers_ ABSL_GUARDED_BY(mutex_) = true;

  // The eventfd that the kernel signals at each completion. It is read only
  // while a coroutine is parked, so that an idle run() returns.
  std::optional<boost::asio::posix::basic_stream_descriptor<ReactorExecutor>>
      event_ ABSL_GUARDED_BY(mutex_);
  bool armed_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t event_count_ = 0;  // of the armed read

  std::deque<UringBatch*> waiting_ ABSL_GUARDED_BY(mutex_);  // more to submit
  std::vector<PendingRead*> again_ ABSL_GUARDED_BY(mutex_);  // to submit again
  // In the submission queue, in its order, not yet taken by the kernel.
  std::vector<PendingRead*> prepared_ ABSL_GUARDED_BY(mutex_);
  size_t in_flight_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t submission_ ABSL_GUARDED_BY(mutex_) = 0;  // number of the last call
  CallSizes sizes_ ABSL_GUARDED_BY(mutex_);
  int refusals_ ABSL_GUARDED_BY(mutex_) = 0;  // consecutive ones
  std::vector<AtomicBackendCounters*> submitted_ ABSL_GUARDED_BY(mutex_);

  std::unordered_set<UringBatch*> parked_ ABSL_GUARDED_BY(mutex_);
  UringWaiters ready_ ABSL_GUARDED_BY(mutex_);  // to resume, without the lock
};

}  // namespace poniente::internal

#endif  // PONIENTE_IO_URING_URING_RING_H_
