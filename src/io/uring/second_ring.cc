// SPDX-License-Identifier: Apache-2.0
#include "io/uring/second_ring.h"

#include <algorithm>
#include <atomic>
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
#include "util/usable_cores.h"

namespace poniente::internal {
namespace {

namespace asio = boost::asio;

// Fewer reads are not worth waking another thread.
constexpr size_t kLeastReads = 16;
// The running average of the hit share below which most reads are the disk's.
constexpr double kCold = 0.4;

bool IsBuffered(const PendingRead& read) {
  return read.backend() == IoBackend::kBuffered;
}

// A share in the number of threads that the process may have: as many as cores.
class ThreadSlot {
 public:
  // Takes a slot if there is one.
  ThreadSlot() {
    const uint64_t forks = static_cast<uint64_t>(ForkCount()) << 32;
    const unsigned most = UsableCores();
    uint64_t taken = taken_slots.load();
    while (!is_taken_) {
      // A forked child has none of its parent's threads.
      const uint64_t count =
          (taken & kForks) == forks ? taken & ~kForks : uint64_t{0};
      if (most < 2 || count >= most) return;
      is_taken_ = taken_slots.compare_exchange_weak(taken, forks | (count + 1));
    }
  }
  ThreadSlot(ThreadSlot&& other) noexcept
      : is_taken_(std::exchange(other.is_taken_, false)) {}
  // REQUIRES: the process has not forked.
  ~ThreadSlot() {
    if (is_taken_) --taken_slots;
  }

  bool is_taken() const { return is_taken_; }

 private:
  // The number of forks, and below it that of the slots that are taken.
  static constexpr uint64_t kForks = ~uint64_t{0} << 32;
  static inline std::atomic<uint64_t> taken_slots = 0;

  bool is_taken_ = false;
};

}  // namespace

class SecondRing::Thread {
 public:
  explicit Thread(ThreadSlot slot)
      : slot_(std::move(slot)), ring_(UringRing::Of(context_.get_executor())) {
    ring_.DoNotRegisterBuffers();
  }
  // Runs what was posted, and ends the thread.
  ~Thread() {
    work_.reset();
    if (thread_.joinable()) thread_.join();
  }
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  // Returns whether there is a ring and a thread now.
  bool Start() {
    if (!ring_.status().ok()) return false;
    try {
      thread_ = std::thread([this] { Run(); });
    } catch (const std::system_error&) {
      return false;
    }
    return true;
  }
  UringRing& ring() { return ring_; }
  asio::io_context& context() { return context_; }

 private:
  void Run() {
    while (!context_.stopped()) {
      try {
        context_.run();
      } catch (const std::bad_alloc&) {  // Asio's own; nothing of ours throws
      }
    }
  }

  const ThreadSlot slot_;
  asio::io_context context_{1};
  UringRing& ring_;
  asio::executor_work_guard<asio::io_context::executor_type> work_ =
      asio::make_work_guard(context_);
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
  if (hit_share_.value() > kCold || !works_.load(std::memory_order_relaxed) ||
      IsForked()) {
    return 0;
  }
  const auto half = std::count_if(reads.begin(), reads.end(), IsBuffered) / 2;
  if (static_cast<size_t>(half) < kLeastReads / 2) return 0;
  auto first = reads.end();
  for (ptrdiff_t taken = 0; taken < half;) taken += IsBuffered(*--first);
  return static_cast<size_t>(reads.end() - first);
}

void SecondRing::Learn(const Hits& hits) {
  if (hits.known_reads > 0) hit_share_.Follow(hits.known_reads, hits.known);
}

SecondRing::Thread* SecondRing::Start() {
  MutexLock lock(&mu_);
  if (thread_ != nullptr) return thread_.get();
  ThreadSlot slot;
  if (!slot.is_taken()) return nullptr;
  auto started = std::make_unique<Thread>(std::move(slot));
  if (started->Start()) {
    thread_ = std::move(started);
  } else {
    GiveUp();
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
    try {
      done_->NotifyAll();
    } catch (const std::bad_alloc&) {
      // IsDone() knows. Only the coroutine that waits, which there was no
      // memory to post, is lost.
    }
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
    num_reads_ = reads.size();
  } catch (const std::bad_alloc&) {
  }
}

SecondBatch::~SecondBatch() {
  if (!IsDone() && !ring_->IsForked()) done_->BlockPast(0);
}

bool SecondBatch::IsDone() const {
  return done_ == nullptr || done_->version() > 0;
}

}  // namespace poniente::internal
