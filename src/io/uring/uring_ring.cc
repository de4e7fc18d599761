// SPDX-License-Identifier: Apache-2.0
// How a batch runs:
//
// 1. Start() puts its reads into the submission queue and makes one
//    io_uring_enter. Reads of cached pages complete inside that call, so the
//    completion queue is looked at right after it.
// 2. If some reads are not complete, the coroutine is parked, and a read of the
//    eventfd is armed. The kernel signals the eventfd at every completion.
// 3. OnEvent() takes the completions, submits reads that waited for room,
//    resumes the coroutines whose batch is done, and arms the read again while
//    any coroutine is parked.
//
// No wake-up is lost, because the eventfd keeps a signal until it is read. And
// an armed read always ends: it is armed only while, under the lock, the last
// completion of some parked batch has not been in the completion queue yet, so
// another signal will follow.
#include "io/uring/uring_ring.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/async_result.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <cerrno>
#include <chrono>
#include <climits>
#include <new>
#include <thread>

#include "async/parked_coroutine.h"
#include "io/files/descriptors.h"
#include "io/files/fault_hooks.h"
#include "io/uring/uring_setup.h"
#include "util/fork_count.h"

namespace poniente::internal {
namespace {

namespace asio = boost::asio;

// The ring is given up after this many consecutive refused submissions with no
// read in flight. The kernel refuses while it has no memory for them, so the
// thread sleeps before the last seven: 1 ms, then twice as long each time. If
// another ring was given up within the last second, it does not.
constexpr int kMaxRefusals = 16;
constexpr int kFirstSleep = 9;
constexpr std::chrono::seconds kRecently{1};

// When a ring was last given up because of refusals.
std::atomic<std::chrono::steady_clock::time_point> last_refused = {};

int SubmitHooked(io_uring* ring) {
  const int error = FaultAt(SystemCall::kUringEnter);
  return error == 0 ? io_uring_submit(ring) : -error;
}

// Returns a descriptor, or -errno.
int OpenEventfd() {
  if (const int fault = FaultAt(SystemCall::kEventfd); fault != 0) {
    return -fault;
  }
  const int fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  return fd >= 0 ? fd : -errno;
}

class WaitingCoroutine final : public UringWaiter {
 public:
  explicit WaitingCoroutine(asio::any_io_executor executor)
      : parked_(std::move(executor)) {}
  void Park(ParkedCoroutine::Handler&& handler) {
    parked_.Park(std::move(handler));
  }
  void Resume() override { parked_.Resume(true); }

 private:
  ParkedCoroutine parked_;
};

}  // namespace

UringBatch::UringBatch(UringRing* ring, std::span<PendingRead> reads)
    : ring_(ring), reads_(reads) {}

UringBatch::~UringBatch() { ring_->WaitInPlace(this); }

bool UringBatch::Start() { return ring_->Start(this); }

void UringBatch::SkipFinished() {
  while (next_ < reads_.size() && reads_[next_].finished()) ++next_;
}

asio::awaitable<void> UringBatch::Wait() {
  auto executor = co_await asio::this_coro::executor;
  // Here, because an exception of what follows would drop the coroutine.
  auto waiter = std::make_unique<WaitingCoroutine>(std::move(executor));
  auto park = [this, waiter = std::move(waiter)](
                  ParkedCoroutine::Handler&& handler) mutable {
    waiter->Park(std::move(handler));
    Park(std::move(waiter));
  };
  asio::awaitable<bool> wait =
      asio::async_initiate<const asio::use_awaitable_t<>, void(bool)>(
          std::move(park), asio::use_awaitable);
  co_await std::move(wait);
}

void UringBatch::Park(std::unique_ptr<UringWaiter> waiter) {
  ring_->Park(this, std::move(waiter));
}

bool UringBatch::is_complete() const {
  return std::all_of(reads_.begin(), reads_.end(),
                     [](const PendingRead& read) { return read.finished(); });
}

void UringRing::DoNotRegisterBuffers() {
  MutexLock lock(&mutex_);
  uses_buffers_ = false;
}

UringRing& UringRing::Of(const asio::any_io_executor& executor) {
  return asio::use_service<UringRing>(
      asio::query(executor, asio::execution::context));
}

UringRing::UringRing(asio::execution_context& context)
    : asio::execution_context::service(context), forks_(ForkCount()) {
  // Coroutines that own what the ring reads into may be parked.
  UseParking(context);
  // The constructor and the destructor do not take the lock: no other thread
  // uses this object then, and Asio may hold the lock of its services.
  //
  // No more than kEntries reads are prepared or in flight at a time.
  again_.reserve(kEntries);
  prepared_.reserve(kEntries);
  submitted_.reserve(kEntries);
  status_ = SetUpRing(kEntries, &ring_);
  if (!status_.ok()) return;
  has_ring_ = true;
  status_ = SetUp(context);
  if (!status_.ok()) return;
  tables_.SetUp(&ring_);
}

absl::Status UringRing::SetUp(asio::execution_context& context) {
  // The first descriptor of a context creates its reactor, which needs
  // descriptors itself and throws if none are left.
  const int made = CallWithDescriptors([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    try {
      event_.emplace(ReactorExecutor(context));
      return 0;
    } catch (const boost::system::system_error& error) {
      return -error.code().value();
    }
  });
  if (made < 0) return UringError("epoll", -made);
  const int fd = CallForDescriptor(OpenEventfd);
  if (fd < 0) return UringError("eventfd", -fd);
  boost::system::error_code error;
  event_->assign(fd, error);
  if (error) {
    ::close(fd);
    return UringError("epoll_ctl", error.value());
  }
  int registered = -FaultAt(SystemCall::kRegisterEventfd);
  if (registered == 0) registered = io_uring_register_eventfd(&ring_, fd);
  if (registered < 0) return UringError("io_uring_register", -registered);
  return absl::OkStatus();
}

UringRing::~UringRing() {
  // If another thread has created the service at the same time, Asio destroys
  // this one under its lock of services. This one has not been used then, so it
  // is not listed, and no other lock is taken.
  if (is_listed_) RemoveRing(this);
  if (has_ring_ && !IsForked()) TearDownRing(&ring_);
}

void UringRing::shutdown() {
  if (is_listed_.exchange(false)) RemoveRing(this);
  UringWaiters dropped;
  {
    MutexLock lock(&mutex_);
    if (!has_ring_ || IsForked()) return;
    // Drops reads that the kernel has not taken. Reads that the disk works on
    // cannot be cancelled, so waits for them. Does not access the reads,
    // because their readers may have been destroyed.
    waiting_.clear();
    again_.clear();
    prepared_.clear();
    while (in_flight_ > 0) {
      WaitForCompletion();
      const unsigned count = io_uring_cq_ready(&ring_);
      io_uring_cq_advance(&ring_, count);
      in_flight_ -= count;
    }
    for (UringBatch* batch : parked_) {
      batch->unfinished_ = 0;
      dropped.Add(std::move(batch->waiter_));
    }
    parked_.clear();
    event_.reset();
    TearDownRing(&ring_);
    has_ring_ = false;
    // Without a text, because a destructor may find no memory for it.
    status_ = absl::CancelledError("");
  }
}

bool UringRing::IsForked() const { return forks_ != ForkCount(); }

void UringRing::ForgetFile(uint64_t file) {
  MutexLock lock(&mutex_);
  if (!IsForked()) tables_.ForgetFile(file);
}

void UringRing::ForgetBuffer(uint64_t buffer) {
  MutexLock lock(&mutex_);
  if (!IsForked()) tables_.ForgetBuffer(buffer);
}

absl::Status UringRing::status() const {
  MutexLock lock(&mutex_);
  return status_;
}

bool UringRing::Start(UringBatch* batch) {
  // Must come before any registration, and without the lock.
  // If there is no memory for it, the next batch tries again.
  if (!is_listed_) {
    AddRing(this);
    is_listed_ = true;
  }
  UringWaiters ready;
  bool done;
  {
    MutexLock lock(&mutex_);
    if (IsForked()) {
      status_ = absl::UnavailableError("io_uring: made before a fork()");
    }
    if (!status_.ok()) return true;
    size_t unfinished = 0;
    for (PendingRead& read : batch->reads_) {
      read.batch = batch;
      if (!read.finished()) ++unfinished;
    }
    if (unfinished == 0) return true;
    batch->SkipFinished();
    waiting_.push_back(batch);
    batch->unfinished_ = unfinished;
    sizes_.BeginBatch();
    Pump();
    done = batch->unfinished_ == 0;
    ready.Swap(&ready_);
  }
  ready.ResumeAll();
  return done;
}

void UringRing::Park(UringBatch* batch, std::unique_ptr<UringWaiter> waiter) {
  {
    MutexLock lock(&mutex_);
    // Otherwise another thread has taken its last completion.
    if (batch->unfinished_ > 0 && MayPark(batch)) {
      batch->waiter_ = std::move(waiter);
      return;
    }
  }
  WaitInPlace(batch);
  waiter->Resume();
}

bool UringRing::MayPark(UringBatch* batch) {
  if (!Arm()) return false;
  try {
    parked_.insert(batch);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void UringRing::WaitInPlace(UringBatch* batch) {
  if (IsForked()) return;  // the parent's reads, of which this is a copy
  UringWaiters ready;
  {
    MutexLock lock(&mutex_);
    while (batch->unfinished_ > 0) {
      WaitForCompletion();
      Pump();
    }
    ready.Swap(&ready_);
  }
  ready.ResumeAll();
}

void UringRing::OnEvent(const boost::system::error_code& error) {
  UringWaiters ready;
  {
    MutexLock lock(&mutex_);
    armed_ = false;
    Pump();
    // Otherwise the eventfd does not work any more.
    const bool may_wait = !error && (parked_.empty() || Arm());
    while (!may_wait && !parked_.empty()) {
      WaitForCompletion();
      Pump();
    }
    ready.Swap(&ready_);
  }
  ready.ResumeAll();
}

void UringRing::Pump() {
  Reap(/*submission=*/0);
  size_t taken = 0;  // by the kernel, in this call
  while (status_.ok()) {
    if (taken >= kReadsOfTurn && in_flight_ >= kBusy) return;
    Prepare();
    const size_t prepared = prepared_.size();
    if (prepared == 0 || !Submit()) return;
    taken += prepared - prepared_.size();
    Reap(submission_);
  }
}

void UringRing::Prepare() {
  while (in_flight_ + prepared_.size() < kEntries) {
    const PendingRead* const next = PeekRead();
    if (next == nullptr) return;
    if (prepared_.empty()) {
      sizes_.BeginCall(*next);
    } else if (!sizes_.MayJoin(*prepared_.back(), *next, prepared_.size())) {
      return;
    }
    PendingRead* const read = NextRead();
    // Never null: the queue has kEntries places.
    io_uring_sqe* const sqe = io_uring_get_sqe(&ring_);
    PrepareOne(*read, sqe);
    io_uring_sqe_set_data(sqe, read);
    prepared_.push_back(read);
  }
}

void UringRing::PrepareOne(const PendingRead& read, io_uring_sqe* sqe) {
  const int file_slot = tables_.FileSlot(read.file());
  const int fd = file_slot >= 0 ? file_slot : read.file().fd();
  const auto places = read.places();
  if (places.size() > 1) {
    const auto count = std::min<size_t>(places.size(), IOV_MAX);
    io_uring_prep_readv(sqe, fd, places.data(), static_cast<unsigned>(count),
                        read.offset());
  } else {
    auto* const into = static_cast<std::byte*>(places.front().iov_base);
    const auto bytes = static_cast<unsigned>(read.piece());
    const int buffer_slot =
        uses_buffers_ ? tables_.BufferSlot(into, bytes) : -1;
    if (buffer_slot >= 0) {
      io_uring_prep_read_fixed(sqe, fd, into, bytes, read.offset(),
                               buffer_slot);
    } else {
      io_uring_prep_read(sqe, fd, into, bytes, read.offset());
    }
  }
  if (file_slot >= 0) sqe->flags |= IOSQE_FIXED_FILE;
}

PendingRead* UringRing::PeekRead() {
  if (!again_.empty()) return again_.back();
  if (waiting_.empty()) return nullptr;
  return &waiting_.front()->reads_[waiting_.front()->next_];
}

PendingRead* UringRing::NextRead() {
  PendingRead* const read = PeekRead();
  if (read == nullptr) return nullptr;
  if (!again_.empty()) {
    again_.pop_back();
    return read;
  }
  UringBatch* const batch = waiting_.front();
  ++batch->next_;
  batch->SkipFinished();
  // Removed now, because a batch may be destroyed once its last read is done.
  if (batch->next_ == batch->reads_.size()) waiting_.pop_front();
  return read;
}

bool UringRing::Submit() {
  ++submission_;
  const int submitted = SubmitHooked(&ring_);
  if (submitted > 0) {
    refusals_ = 0;
    CountSubmission(static_cast<size_t>(submitted));
    return true;
  }
  const int error = submitted == 0 ? EAGAIN : -submitted;
  const bool transient = error == EAGAIN || error == EBUSY || error == EINTR;
  if (transient && in_flight_ > 0) return false;
  if (transient && ++refusals_ < kMaxRefusals) {
    if (refusals_ < kFirstSleep ||
        std::chrono::steady_clock::now() - last_refused.load() < kRecently) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(
          std::chrono::milliseconds(1 << (refusals_ - kFirstSleep)));
    }
    return true;
  }
  if (transient) last_refused = std::chrono::steady_clock::now();
  GiveUp("io_uring_enter", error);
  return false;
}

void UringRing::CountSubmission(size_t reads) {
  in_flight_ += reads;
  const bool tells = sizes_.EndCall(*prepared_.front(), reads);
  submitted_.clear();
  for (size_t i = 0; i < reads; ++i) {
    PendingRead* const read = prepared_[i];
    read->submission = submission_;
    read->hit_is_known = tells;
    auto* const counters = &read->reader().CountersOf(read->backend());
    if (submitted_.empty() || submitted_.back() != counters) {
      submitted_.push_back(counters);
    }
  }
  prepared_.erase(prepared_.begin(),
                  prepared_.begin() + static_cast<ptrdiff_t>(reads));
  std::sort(submitted_.begin(), submitted_.end());
  const auto end = std::unique(submitted_.begin(), submitted_.end());
  for (auto counters = submitted_.begin(); counters != end; ++counters) {
    Add(1, &(*counters)->submissions);
  }
}

void UringRing::Reap(uint64_t submission) {
  unsigned head;
  unsigned count = 0;
  io_uring_cqe* cqe;
  io_uring_for_each_cqe(&ring_, head, cqe) {
    ++count;
    auto* const read = static_cast<PendingRead*>(io_uring_cqe_get_data(cqe));
    read->TakeResult(HookedReadResult(SystemCall::kUringRead, cqe->res));
    if (!read->finished()) {
      again_.push_back(read);
      if (!status_.ok()) GiveUp(nullptr, 0);
      continue;
    }
    read->hit = read->submission == submission;
    OneLess(read->batch);
  }
  io_uring_cq_advance(&ring_, count);
  in_flight_ -= count;
}

void UringRing::OneLess(UringBatch* batch) {
  if (--batch->unfinished_ > 0 || batch->waiter_ == nullptr) return;
  ready_.Add(std::move(batch->waiter_));
  parked_.erase(batch);
}

void UringRing::GiveUp(const char* call, int error) {
  if (status_.ok()) {
    try {
      status_ = UringError(call, error);
    } catch (const std::bad_alloc&) {
      status_ = absl::UnavailableError("");  // no memory for a text
    }
  }
  // The prepared reads stay in the submission queue, which is never submitted
  // again.
  for (PendingRead* read : prepared_) OneLess(read->batch);
  prepared_.clear();
  while (PendingRead* read = NextRead()) OneLess(read->batch);
}

void UringRing::WaitForCompletion() {
  io_uring_cqe* cqe;
  const int error = io_uring_wait_cqe(&ring_, &cqe);
  // The caller waits until the completion arrives, because the kernel owns the
  // buffers until then.
  if (error < 0 && error != -EINTR) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

bool UringRing::Arm() {
  if (armed_) return true;
  try {
    event_->async_read_some(asio::buffer(&event_count_, sizeof(event_count_)),
                            [this](const boost::system::error_code& error,
                                   size_t) { OnEvent(error); });
    armed_ = true;
  } catch (const std::bad_alloc&) {
  }
  return armed_;
}

}  // namespace poniente::internal
