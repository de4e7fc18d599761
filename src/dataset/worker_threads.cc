// SPDX-License-Identifier: Apache-2.0
#include "poniente/extend/worker_threads.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "async/blocking_threads.h"
#include "async/notifier.h"
#include "util/mutex.h"
#include "util/status_macros.h"

namespace poniente::internal {

namespace asio = boost::asio;

namespace {

// The calls of one ForEach(), shared by the threads and the coroutine that
// waits for them.
class ParallelCalls {
 public:
  ParallelCalls(size_t count, size_t workers,
                std::function<absl::Status(size_t)> call)
      : count_(count), call_(std::move(call)), working_(workers) {}

  // Makes calls until none is left. Numbers are taken in order, so every number
  // below one that fails has been taken before, and is called to its end.
  void Work() {
    while (!is_stopped_.load(std::memory_order_relaxed)) {
      const size_t number = next_.fetch_add(1, std::memory_order_relaxed);
      if (number >= count_) break;
      absl::Status status = Call(number);
      if (!status.ok()) Fail(number, std::move(status));
    }
    Leave();
  }
  // Records that a worker has ended. Acquire-release: the coroutine sees what
  // all of them have written.
  void Leave() {
    if (working_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      done_.NotifyAll();
    }
  }
  // Blocks the thread until all workers have ended. Allocates nothing.
  void Block() {
    while (true) {
      const uint64_t seen = done_.version();
      if (IsDone()) return;
      done_.BlockPast(seen);
    }
  }
  void Stop() { is_stopped_.store(true, std::memory_order_relaxed); }
  bool IsDone() const { return working_.load(std::memory_order_acquire) == 0; }
  Notifier& done() { return done_; }
  // REQUIRES: IsDone().
  absl::Status Result(size_t* failed) {
    MutexLock lock(&mu_);
    if (!error_.ok()) *failed = failed_;
    return error_;
  }

 private:
  absl::Status Call(size_t number) {
    try {
      return call_(number);
    } catch (...) {
      return StatusFromException(std::current_exception());
    }
  }
  void Fail(size_t number, absl::Status status) {
    Stop();
    MutexLock lock(&mu_);
    if (!error_.ok() && failed_ < number) return;
    failed_ = number;
    error_ = std::move(status);
  }

  const size_t count_;
  const std::function<absl::Status(size_t)> call_;
  std::atomic<size_t> next_ = 0;
  std::atomic<size_t> working_;
  std::atomic<bool> is_stopped_ = false;
  Notifier done_;
  Mutex mu_;
  size_t failed_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Status error_ ABSL_GUARDED_BY(mu_);
};

// Waits for all workers, even if the caller is cancelled. Returns whether it
// was.
asio::awaitable<bool> WaitForWorkers(std::shared_ptr<ParallelCalls> calls) {
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  bool is_cancelled = false;
  while (true) {
    const uint64_t seen = calls->done().version();
    const asio::cancellation_state state =
        co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) {
      is_cancelled = true;
      calls->Stop();
    }
    if (calls->IsDone()) break;
    try {
      absl::Status waited = co_await calls->done().WaitPast(seen);
      waited.IgnoreError();  // if cancelled, the loop sees it
    } catch (const std::bad_alloc&) {
      // The caller owns what the function uses, so it must not go on.
      calls->Block();
    }
  }
  co_await asio::this_coro::throw_if_cancelled(throws);
  co_return is_cancelled;
}

}  // namespace

absl::Status CheckParallel(std::string_view dataset, uint32_t parallel) {
  constexpr uint32_t kMost = 1024;
  if (parallel <= kMost) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("dataset '", Absl(dataset),
                                                 "': parallel must be at most ",
                                                 kMost, ", got ", parallel));
}

absl::Status ErrorOfFunction(absl::Status error) {
  if (!absl::IsCancelled(error)) return error;
  return absl::InternalError(
      absl::StrCat("the function returned CANCELLED: ", error.message()));
}

absl::Status ErrorOfFunction(std::exception_ptr exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const boost::system::system_error& error) {
    return absl::InternalError(error.what());
  } catch (...) {
    return StatusFromException(exception);
  }
}

class WorkerThreads::Impl {
 public:
  explicit Impl(uint32_t threads) : threads_(threads), pool_(threads) {}

  void Start(const std::shared_ptr<ParallelCalls>& calls, size_t workers) {
    for (size_t i = 0; i < workers; ++i) {
      if (pool_.Post([calls] { calls->Work(); })) continue;
      calls->Work();  // no threads: on this one
      for (size_t other = i + 1; other < workers; ++other) calls->Leave();
      return;
    }
  }
  uint32_t threads() const { return threads_; }

 private:
  const uint32_t threads_;
  BlockingThreads pool_;
};

std::shared_ptr<WorkerThreads> WorkerThreads::Create(uint32_t threads) {
  if (threads < 2) return nullptr;
  return std::shared_ptr<WorkerThreads>(new WorkerThreads(threads));
}

WorkerThreads::WorkerThreads(uint32_t threads)
    : impl_(std::make_unique<Impl>(threads)) {}
WorkerThreads::~WorkerThreads() = default;

uint32_t WorkerThreads::threads() const { return impl_->threads(); }

Task<> WorkerThreads::ForEach(size_t count,
                              std::function<absl::Status(size_t)> call,
                              size_t* failed) {
  if (count == 0) co_return absl::OkStatus();
  const size_t workers = std::min<size_t>(count, impl_->threads());
  auto calls = std::make_shared<ParallelCalls>(count, workers, std::move(call));
  impl_->Start(calls, workers);
  const bool is_cancelled = co_await WaitForWorkers(calls);
  if (is_cancelled) co_return absl::CancelledError("cancelled by the caller");
  co_return calls->Result(failed);
}

}  // namespace poniente::internal
