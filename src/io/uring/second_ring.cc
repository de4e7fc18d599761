// SPDX-License-Identifier: Apache-2.0
#include "io/uring/second_ring.h"

#include <sched.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "async/parked_coroutine.h"
#include "io/uring/uring_ring.h"
#include "util/fork_count.h"

namespace poniente::internal {
namespace {

namespace asio = boost::asio;

// Fewer reads are not worth waking another thread.
constexpr size_t kLeastReads = 16;
// The running average of the hit share below which most reads are the disk's.
constexpr double kCold = 0.4;
// A batch of this many known reads has half of the weight in the new average;
// the short call of a batch tells of 8.
constexpr double kMemory = 8;

bool IsBuffered(const PendingRead& read) {
  return read.backend() == IoBackend::kBuffered;
}

// Returns whether the calling thread, and so a thread that it starts, may run
// on more than one core.
bool HasSecondCore() {
  cpu_set_t cores;
  // Fails if there are more than 1024 cores.
  return ::sched_getaffinity(0, sizeof(cores), &cores) != 0 ||
         CPU_COUNT(&cores) > 1;
}

// The threads of this process.
std::atomic<unsigned> num_threads = 0;

// Counts a thread, unless the process has as many as half of the cores.
bool MayStartThread() {
  const unsigned most = std::max(std::thread::hardware_concurrency() / 2, 1u);
  if (num_threads.fetch_add(1) < most) return true;
  --num_threads;
  return false;
}

}  // namespace

class SecondRing::Thread {
 public:
  Thread()
      : ring_(UringRing::Of(context_.get_executor())),
        work_(asio::make_work_guard(context_)) {
    ring_.DoNotRegisterBuffers();
  }
  // Runs what was posted, and ends the thread.
  ~Thread() {
    work_.reset();
    if (!thread_.joinable()) return;
    thread_.join();
    --num_threads;
  }
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  // Returns whether there is a thread now.
  bool Start() {
    if (!ring_.status().ok() || !HasSecondCore() || !MayStartThread()) {
      return false;
    }
    try {
      thread_ = std::thread([this] { Run(); });
    } catch (const std::system_error&) {
      --num_threads;
    }
    return thread_.joinable();
  }
  UringRing& ring() { return ring_; }
  asio::io_context& context() { return context_; }

 private:
  void Run() {
    while (!context_.stopped()) {
      try {
        context_.run();
      } catch (const std::bad_alloc&) {
        // The coroutine that there was no memory to resume is lost.
      }
    }
  }

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
    : asio::execution_context::service(context), forks_(ForkCount()) {
  UseParking(context);
}

SecondRing::~SecondRing() = default;

void SecondRing::shutdown() {
  // The thread is the parent's, and may have held any lock, this one among
  // them.
  if (IsForked()) return ForgetThread();
  MutexLock lock(&mu_);
  thread_.reset();
}

void SecondRing::ForgetThread() { (void)thread_.release(); }

bool SecondRing::IsForked() const { return forks_ != ForkCount(); }

size_t SecondRing::ShareOf(std::span<const PendingRead> reads) const {
  if (hit_share_.load(std::memory_order_relaxed) > kCold ||
      !works_.load(std::memory_order_relaxed) || IsForked()) {
    return 0;
  }
  const auto half = std::count_if(reads.begin(), reads.end(), IsBuffered) / 2;
  if (static_cast<size_t>(half) < kLeastReads / 2) return 0;
  auto first = reads.end();
  for (ptrdiff_t taken = 0; taken < half;) taken += IsBuffered(*--first);
  return static_cast<size_t>(reads.end() - first);
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
    auto started = std::make_unique<Thread>();
    if (started->Start()) {
      thread_ = std::move(started);
    } else {
      GiveUp();
    }
  }
  return thread_.get();
}

// The batch in the second ring, where it waits for its own end.
class SecondBatch::Reads final : public UringWaiter {
 public:
  Reads(SecondRing* owner, UringRing* ring, std::span<PendingRead> reads,
        std::shared_ptr<Notifier> done)
      : owner_(owner), batch_(ring, reads), done_(std::move(done)) {}

  // Called on the second ring's thread.
  static void Begin(std::unique_ptr<Reads> reads) {
    UringBatch& batch = reads->batch_;
    bool done = true;
    try {
      done = batch.Start();
    } catch (const std::bad_alloc&) {  // none of the reads was submitted
    }
    if (done) {
      reads->Resume();
    } else {
      batch.Park(std::move(reads));
    }
  }

  void Resume() override {
    if (!batch_.is_complete()) owner_->GiveUp();
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
