// SPDX-License-Identifier: Apache-2.0
#include "async/blocking_threads.h"

#include <boost/asio/post.hpp>
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

  Task<> Wait() {
    while (true) {
      const uint64_t seen = done_.version();
      {
        MutexLock lock(&mu_);
        if (result_.has_value()) co_return *result_;
      }
      absl::Status waited = co_await done_.WaitPast(seen);
      if (!waited.ok()) co_return waited;
    }
  }

 private:
  const std::function<absl::Status()> call_;
  Mutex mu_;
  std::optional<absl::Status> result_ ABSL_GUARDED_BY(mu_);
  Notifier done_;
};

}  // namespace

BlockingThreads::~BlockingThreads() {
  std::unique_ptr<boost::asio::thread_pool> pool;
  {
    MutexLock lock(&mu_);
    pool = std::move(pool_);
  }
  if (pool == nullptr) return;
  pool->stop();
  pool->join();
}

bool BlockingThreads::Post(std::function<void()> work) {
  MutexLock lock(&mu_);
  if (pool_ == nullptr) {
    try {
      pool_ = std::make_unique<boost::asio::thread_pool>(num_threads_);
    } catch (const std::exception&) {
      return false;
    }
  }
  boost::asio::post(*pool_, std::move(work));
  return true;
}

Task<> BlockingThreads::Run(std::function<absl::Status()> call) {
  auto shared = std::make_shared<BlockingCall>(std::move(call));
  std::function<void()> work = [shared] { shared->Run(); };
  if (!Post(work)) work();
  absl::Status status = co_await shared->Wait();
  co_return status;
}

}  // namespace poniente::internal
