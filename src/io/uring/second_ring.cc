// SPDX-License-Identifier: Apache-2.0
#include "io/uring/second_ring.h"

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "io/uring/uring_ring.h"
#include "util/fork_count.h"

namespace poniente::internal {
namespace {

namespace asio = boost::asio;

// Fewer reads are not worth waking another thread.
constexpr size_t kLeastReads = 16;
// The running average of the hit share below which most reads are the disk's.
constexpr double kCold = 0.4;
// So many reads have half of the weight in the new average: the short call of a
// batch tells of 8.
constexpr double kMemory = 8;

bool IsBuffered(const PendingRead& read) {
  return read.backend() == IoBackend::kBuffered;
}

}  // namespace

class SecondRing::Thread {
 public:
  // Throws std::system_error if the system gives no thread.
  Thread()
      : ring_(UringRing::Of(context_.get_executor())),
        work_(asio::make_work_guard(context_)),
        thread_([this] { context_.run(); }) {}
  // Runs what was posted, and ends the thread.
  ~Thread() {
    work_.reset();
    thread_.join();
  }
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  UringRing& ring() { return ring_; }
  asio::io_context& context() { return context_; }

 private:
  asio::io_context context_{1};
  UringRing& ring_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::thread thread_;
};

SecondRing& SecondRing::Of(const asio::any_io_executor& executor) {
  return asio::use_service<SecondRing>(
      asio::query(executor, asio::execution::context));
}

SecondRing::SecondRing(asio::execution_context& context)
    : asio::execution_context::service(context),
      forks_(ForkCount()),
      works_(std::thread::hardware_concurrency() > 1) {}

SecondRing::~SecondRing() = default;

void SecondRing::shutdown() {
  MutexLock lock(&mu_);
  if (IsForked()) {
    // The thread is the parent's, and may have held any lock.
    (void)thread_.release();
  } else {
    thread_.reset();
  }
}

bool SecondRing::IsForked() const { return forks_ != ForkCount(); }

size_t SecondRing::ShareOf(std::span<const PendingRead> reads) const {
  if (reads.size() < kLeastReads ||
      hit_share_.load(std::memory_order_relaxed) > kCold ||
      !works_.load(std::memory_order_relaxed) || IsForked()) {
    return 0;
  }
  const auto buffered = std::count_if(reads.begin(), reads.end(), IsBuffered);
  if (2 * static_cast<size_t>(buffered) < reads.size()) return 0;
  return reads.size() / 2;
}

void SecondRing::Learn(const Hits& hits) {
  const auto reads = static_cast<double>(hits.known_reads);
  if (reads == 0) return;
  double share = hit_share_.load(std::memory_order_relaxed);
  share += (static_cast<double>(hits.known) / reads - share) *
           (reads / (reads + kMemory));
  hit_share_.store(share, std::memory_order_relaxed);
}

SecondRing::Thread* SecondRing::Start() {
  MutexLock lock(&mu_);
  if (thread_ == nullptr) {
    try {
      thread_ = std::make_unique<Thread>();
    } catch (const std::system_error&) {
      works_ = false;
      return nullptr;
    }
  }
  return thread_.get();
}

// What the second ring knows of the batch. Parked in its own ring.
class SecondBatch::Reads final : public UringWaiter {
 public:
  Reads(SecondRing* owner, UringRing* ring, std::span<PendingRead> reads,
        std::shared_ptr<Notifier> done)
      : owner_(owner), batch_(ring, reads), done_(std::move(done)) {}

  // Called on the second ring's thread.
  static void Begin(std::unique_ptr<Reads> reads) {
    UringBatch& batch = reads->batch_;
    if (batch.Start()) {
      reads->Resume();
    } else {
      batch.Park(std::move(reads));
    }
  }

  void Resume() override {
    if (!batch_.is_complete()) owner_->works_ = false;
    done_->NotifyAll();
  }

 private:
  SecondRing* const owner_;
  UringBatch batch_;
  const std::shared_ptr<Notifier> done_;
};

SecondBatch::SecondBatch(SecondRing* ring, std::span<PendingRead> reads)
    : ring_(ring) {
  if (reads.empty()) return;
  try {
    SecondRing::Thread* const thread = ring->Start();
    if (thread == nullptr) return;
    auto done = std::make_shared<Notifier>();
    auto begun = std::make_unique<Reads>(ring, &thread->ring(), reads, done);
    asio::post(thread->context(), [begun = std::move(begun)]() mutable {
      Reads::Begin(std::move(begun));
    });
    done_ = std::move(done);
  } catch (const std::bad_alloc&) {
  }
}

SecondBatch::~SecondBatch() {
  if (!IsDone() && !ring_->IsForked()) done_->BlockPast(0);
}

bool SecondBatch::IsDone() const {
  return done_ == nullptr || done_->version() > 0;
}

Task<> SecondBatch::Wait() {
  if (IsDone()) co_return absl::OkStatus();
  absl::Status waited = co_await done_->WaitPastToEnd(0);
  co_return waited;
}

}  // namespace poniente::internal
