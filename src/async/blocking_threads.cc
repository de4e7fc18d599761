// SPDX-License-Identifier: Apache-2.0
#include "async/blocking_threads.h"

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <exception>
#include <optional>
#include <utility>

#include "async/notifier.h"

namespace poniente::internal {
namespace {

// The state that a call shares with the coroutine that waits for it.
class BlockingCall {
 public:
  explicit BlockingCall(std::function<absl::Status()> call)
      : call_(std::move(call)) {}

  void Run() {
    absl::Status status;
    try {
      status = call_();
    } catch (...) {
      status = StatusFromException(std::current_exception());
    }
    {
      MutexLock lock(&mu_);
      result_ = std::move(status);
    }
    done_.NotifyAll();
  }

  // `to_end`: also if the wait is cancelled.
  Task<> Wait(bool to_end) {
    while (true) {
      const uint64_t seen = done_.version();
      {
        MutexLock lock(&mu_);
        if (result_.has_value()) co_return *result_;
      }
      absl::Status waited;
      if (to_end) {
        waited = co_await done_.WaitPastToEnd(seen);
      } else {
        waited = co_await done_.WaitPast(seen);
      }
      if (!waited.ok()) co_return waited;
    }
  }

  // Ends no sooner than the call does: also if the coroutine is dropped because
  // there was no memory for its wait. Blocks the thread then.
  class EndsFirst {
   public:
    explicit EndsFirst(BlockingCall* call) : call_(*call) {}
    ~EndsFirst() { call_.Block(); }
    EndsFirst(const EndsFirst&) = delete;
    EndsFirst& operator=(const EndsFirst&) = delete;

   private:
    BlockingCall& call_;
  };

 private:
  // Allocates nothing.
  void Block() {
    while (true) {
      const uint64_t seen = done_.version();
      {
        MutexLock lock(&mu_);
        if (result_.has_value()) return;
      }
      done_.BlockPast(seen);
    }
  }

  const std::function<absl::Status()> call_;
  Mutex mu_;
  std::optional<absl::Status> result_ ABSL_GUARDED_BY(mu_);
  Notifier done_;
};

// Runs the call on one of the threads, or here if there are none.
std::shared_ptr<BlockingCall> Start(BlockingThreads* threads,
                                    std::function<absl::Status()> call) {
  auto shared = std::make_shared<BlockingCall>(std::move(call));
  std::function<void()> work = [shared] { shared->Run(); };
  if (!threads->Post(work)) work();
  return shared;
}

}  // namespace

BlockingThreads::BlockingThreads(size_t threads)
    : num_threads_(threads),
      has_work_(boost::asio::make_work_guard(context_)) {}

BlockingThreads::~BlockingThreads() {
  context_.stop();
  std::vector<std::thread> threads;
  {
    MutexLock lock(&mu_);
    threads = std::move(threads_);
  }
  for (std::thread& thread : threads) thread.join();
}

bool BlockingThreads::StartThreads() {
  try {
    threads_.reserve(num_threads_);
    while (threads_.size() < num_threads_) {
      threads_.emplace_back([this] { context_.run(); });
    }
  } catch (const std::exception&) {  // as many as there are
  }
  return !threads_.empty();
}

bool BlockingThreads::Post(std::function<void()> work) {
  MutexLock lock(&mu_);
  if (threads_.empty() && !StartThreads()) return false;
  boost::asio::post(context_, std::move(work));
  return true;
}

Task<> BlockingThreads::Run(std::function<absl::Status()> call) {
  const std::shared_ptr<BlockingCall> started = Start(this, std::move(call));
  absl::Status status = co_await started->Wait(/*to_end=*/false);
  co_return status;
}

Task<> BlockingThreads::RunToEnd(std::function<absl::Status()> call) {
  // Else co_await would throw, and end the frame that the call borrows from.
  co_await boost::asio::this_coro::throw_if_cancelled(false);
  const std::shared_ptr<BlockingCall> started = Start(this, std::move(call));
  const BlockingCall::EndsFirst ends_first(started.get());
  absl::Status status = co_await started->Wait(/*to_end=*/true);
  co_await boost::asio::this_coro::throw_if_cancelled(true);
  co_return status;
}

}  // namespace poniente::internal
