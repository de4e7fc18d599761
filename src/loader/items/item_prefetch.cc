// SPDX-License-Identifier: Apache-2.0
// The half of an ItemLoader that faces its consumer.
#include "loader/items/item_prefetch.h"

#include <algorithm>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dataset/node_answers.h"
#include "loader/loader_errors.h"
#include "loader/state/run_state.h"
#include "util/alike_lines.h"
#include "util/status_macros.h"

namespace poniente::internal {

namespace asio = boost::asio;

namespace {

constexpr uint32_t kMaxPrefetchedItems = 65536;

absl::Status CheckPrefetch(uint32_t batches) {
  if (batches <= kMaxPrefetchedItems) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("prefetch_batches must be at most ", kMaxPrefetchedItems,
                   ", got ", batches));
}

absl::Status CheckRoot(const DatasetNode& root,
                       const absl::StatusOr<Schedule>& schedule) try {
  PONIENTE_RETURN_IF_ERROR(CheckAnswers(root));
  if (!schedule.ok()) return absl::OkStatus();
  return DatasetTree(root).CheckEpochs(schedule->samples(), &*schedule);
} catch (...) {
  return ErrorOfNode(root, std::current_exception());
}

}  // namespace

ItemBatchMaker::~ItemBatchMaker() = default;

// Held by the Next() in progress; released when its coroutine ends.
class ItemPrefetch::Core::Ticket {
 public:
  // Acquire and release: what the one in progress uses is passed on.
  explicit Ticket(Core* core)
      : core_(core),
        is_taken_(
            !core->next_awaited_.exchange(true, std::memory_order_acquire)) {
    if (is_taken_) waits_ = std::exchange(core->is_left_waiting_, false);
  }
  ~Ticket() {
    if (!is_taken_) return;
    if (waits_ && !core_->is_left_waiting_) {
      core_->counters_.GaveUp(Clock::now());
    }
    core_->next_awaited_.store(false, std::memory_order_release);
  }
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;

  absl::Status status() const {
    if (is_taken_) return absl::OkStatus();
    return NextIsAwaited();
  }

  // The batch is not there. Only then is a clock read: most are.
  void Waits() {
    if (!waits_) core_->counters_.Asked(Clock::now());
    waits_ = true;
  }
  bool waits() const { return waits_; }
  // Between two TryNext(), the consumer waits without a ticket.
  void LetConsumerWait() { core_->is_left_waiting_ = true; }
  void Delivered(uint64_t items, Clock::time_point since) {
    core_->counters_.Delivered(items, since);
    waits_ = false;
  }

 private:
  Core* const core_;
  const bool is_taken_;
  bool waits_ = false;
};

void ItemPrefetch::Core::CountDelivered(uint64_t step, Ticket* ticket) {
  const uint64_t items = step == short_step_ ? short_items_ : items_each_;
  was_ready_ = !ticket->waits() && !is_startup_;
  if (was_ready_) {
    ++ready_steps_;
    ready_items_ += items;
    return;
  }
  ticket->Waits();
  ticket->Delivered(items, next_since_);
  is_startup_ = false;
}

absl::StatusOr<bool> ItemPrefetch::Core::TakeReady(
    Ticket* ticket, std::shared_ptr<void>* batch) try {
  MutexLock lock(&mu_);
  if (is_closed_) return LoaderClosed();
  if (is_broken_) return LoaderBroken();
  const uint64_t step = window_.next();
  if (window_.at_end()) return RunHasEnded(step);
  if (slots_.empty() || !slots_.front().has_arrived) {
    ticket->Waits();
    StartRequests();
    UpdateReadyEvent();
    return false;
  }
  absl::StatusOr<MadeBatch> made = std::move(slots_.front().made);
  if (!made.ok()) {
    Restart(step);
    return AtStep(made.status(), step, options_.rank);
  }
  CountDelivered(step, ticket);
  *batch = std::move(made->batch);
  slots_.pop_front();
  --num_arrived_;
  --num_ready_;
  window_.Deliver();
  TryToStartRequests();
  UpdateReadyEvent();
  return true;
} catch (const std::bad_alloc&) {
  return OutOfMemory();
}

Task<std::shared_ptr<void>> ItemPrefetch::Core::Next(
    std::shared_ptr<Core> core) {
  Ticket ticket(core.get());
  if (!ticket.status().ok()) co_return ticket.status();
  // After a turn of the executor, what this returns reaches its caller without
  // another turn, in which the wait for it could be given up.
  co_await asio::post(asio::use_awaitable);
  std::shared_ptr<void> batch;
  bool has_requested = false;  // in this turn of the executor
  while (true) {
    const asio::cancellation_state cancellation =
        co_await asio::this_coro::cancellation_state;
    if (cancellation.cancelled() != asio::cancellation_type::none) {
      co_return absl::CancelledError("cancelled by the caller");
    }
    const uint64_t seen = core->changed_.version();
    const absl::StatusOr<bool> is_there = core->TakeReady(&ticket, &batch);
    if (!is_there.ok()) co_return is_there.status();
    if (*is_there) {
      core->Report();
      co_return batch;
    }
    // The executor has other work, so not what may take long.
    if (!has_requested && core->only_copies_ &&
        core->is_quick_.load(std::memory_order_relaxed)) {
      has_requested = true;
      if (core->RequestHere(/*is_on_executor=*/true)) continue;
    }
    absl::Status waited = co_await core->changed_.WaitPast(seen);
    if (!waited.ok()) co_return waited;
    has_requested = false;
  }
}

// Without an event loop: a batch that is ready, or nearly, is taken at once.
absl::StatusOr<std::shared_ptr<void>> ItemPrefetch::Core::NextBlocking() try {
  Ticket ticket(this);
  PONIENTE_RETURN_IF_ERROR(ticket.status());
  std::shared_ptr<void> batch;
  while (true) {
    const uint64_t seen = changed_.version();
    PONIENTE_ASSIGN_OR_RETURN(const bool is_there, TakeReady(&ticket, &batch));
    if (is_there) {
      Report();
      return batch;
    }
    if (RequestHere(/*is_on_executor=*/false)) continue;
    // Where items are waited for, they need the core more than a spin does.
    const bool is_calm = calm_requests_.load(std::memory_order_relaxed) > 0;
    const bool has_changed = is_calm && next_spin_.Wait([this, seen] {
      return changed_.version() != seen;
    });
    if (has_changed) continue;
    changed_.BlockPast(seen);
    if (is_calm) next_spin_.Slept();
  }
} catch (...) {
  return StatusFromException(std::current_exception());
}

std::optional<absl::StatusOr<std::shared_ptr<void>>>
ItemPrefetch::Core::TryNext() try {
  Ticket ticket(this);
  PONIENTE_RETURN_IF_ERROR(ticket.status());
  std::shared_ptr<void> batch;
  const absl::StatusOr<bool> is_there = TakeReady(&ticket, &batch);
  if (!is_there.ok()) return is_there.status();
  if (!*is_there) {
    ticket.LetConsumerWait();
    return std::nullopt;
  }
  Report();
  return batch;
} catch (...) {
  return StatusFromException(std::current_exception());
}

bool ItemPrefetch::Core::IsReady() const {
  if (is_closed_ || is_broken_ || window_.at_end()) return true;
  if (!slots_.empty()) return slots_.front().has_arrived;
  // If there was no memory to begin the next batch, nothing else will come: the
  // next call begins it, or returns ResourceExhausted.
  return queued_.empty() && under_way_.empty();
}

void ItemPrefetch::Core::UpdateReadyEvent() {
  if (ready_event_ == nullptr) return;
  TryToStartRequests();
  ready_event_->Set(IsReady());
}

absl::StatusOr<int> ItemPrefetch::Core::ReadyFd() try {
  MutexLock lock(&mu_);
  if (ready_event_ == nullptr) {
    PONIENTE_ASSIGN_OR_RETURN(ready_event_, ReadyEvent::Create());
    UpdateReadyEvent();
  }
  return ready_event_->fd();
} catch (...) {
  return StatusFromException(std::current_exception());
}

void ItemPrefetch::Core::Restart(uint64_t step) {
  window_.Restart(step);
  counters_.Restarted(num_ready_);
  is_startup_ = true;
  slots_.clear();
  num_arrived_ = 0;
  num_ready_ = 0;
  request_steps_ = 1;
  arrived_requests_ = 0;
  calm_requests_.store(0, std::memory_order_relaxed);  // other data may come
  is_quick_.store(false, std::memory_order_relaxed);
  const uint64_t current = window_.generation();
  try {
    // Signals may be emitted only on the thread that runs the request.
    for (asio::io_context* const context :
         {&thread_.context(), &consumer_context_}) {
      const bool is_used = std::any_of(
          under_way_.begin(), under_way_.end(),
          [context](const Request& one) { return one.context == context; });
      if (!is_used) continue;
      asio::post(*context,
                 [this, context, current] { CancelBefore(context, current); });
    }
  } catch (const std::bad_alloc&) {
    // What is no longer wanted comes to its end, and is dropped then.
  }
  UpdateReadyEvent();
}

void ItemPrefetch::Core::CancelBefore(asio::io_context* context,
                                      uint64_t generation) {
  while (true) {
    Request* stale = nullptr;
    {
      MutexLock lock(&mu_);
      for (Request& one : under_way_) {
        if (one.context == context && one.generation < generation &&
            one.is_launched && !one.is_cancelled) {
          stale = &one;
        }
      }
      if (stale == nullptr) return;
      stale->is_cancelled = true;
    }
    stale->cancel.emit(asio::cancellation_type::terminal);
  }
}

void ItemPrefetch::Core::CloseAndCancel() {
  {
    MutexLock lock(&mu_);
    is_closed_ = true;
    Restart(window_.next());
  }
  TryToNotify();
}

void ItemPrefetch::Core::TryToNotify() {
  try {
    changed_.NotifyAll();
  } catch (const std::bad_alloc&) {
    // Who waits is dropped, and told so by its own event loop.
  }
}

absl::Status ItemPrefetch::Core::Seek(uint64_t step) {
  {
    MutexLock lock(&mu_);
    if (is_closed_) return LoaderClosed();
    if (!schedule_.Has(step)) window_.EndAt(step);
    Restart(step);
  }
  changed_.NotifyAll();
  return absl::OkStatus();
}

Task<> ItemPrefetch::Core::Close(std::shared_ptr<Core> core) {
  core->CloseAndCancel();
  while (true) {
    const uint64_t seen = core->changed_.version();
    {
      MutexLock lock(&core->mu_);
      const bool is_idle = core->queued_.empty() && core->under_way_.empty() &&
                           core->ending_.empty();
      if (is_idle || core->is_broken_) co_return absl::OkStatus();
    }
    absl::Status waited = co_await core->changed_.WaitPast(seen);
    if (!waited.ok()) co_return waited;
  }
}

LoaderMetrics ItemPrefetch::Core::metrics() const {
  const Clock::time_point now = Clock::now();
  MutexLock lock(&mu_);
  LoaderMetrics metrics = counters_.Read(now, OpenWork::kCounts);
  metrics.steps += ready_steps_;
  metrics.samples += ready_items_;
  metrics.tokens += ready_items_;
  if (was_ready_) metrics.last_stall_seconds = 0;
  const ReaderTotals::Bytes bytes = readers_.Read();
  metrics.bytes_asked = bytes.asked;
  metrics.bytes_read = bytes.read;
  metrics.next_step = window_.next();
  metrics.batches_ready = num_ready_;
  metrics.batches_under_way = slots_.size() - num_arrived_;
  thread_.AddTimes(&metrics);
  return metrics;
}

absl::StatusOr<std::string> ItemPrefetch::Core::State(uint64_t step) const {
  PONIENTE_RETURN_IF_ERROR(
      CheckHasState(maker_->root(), schedule_, options_.last_batch, step));
  return StateText(maker_->root(), schedule_, step);
}

std::string ItemPrefetch::Core::State() const {
  std::string warning;
  std::string text = StateTextAnyway(maker_->root(), schedule_, next_step(),
                                     Journal(), &warning);
  if (!warning.empty()) EmitLine(options_.warning_sink, "warning: ", warning);
  return text;
}

absl::Status ItemPrefetch::Core::Resume(std::string_view state) {
  PONIENTE_ASSIGN_OR_RETURN(const uint64_t step,
                            StepOfState(state, maker_->root(), schedule_));
  return Seek(step);
}

absl::StatusOr<std::unique_ptr<ItemPrefetch>> ItemPrefetch::Create(
    std::unique_ptr<const ItemBatchMaker> maker, ItemPrefetchOptions options) {
  ScheduleOptions of_run;
  of_run.steps = options.steps;
  of_run.batch_size = options.batch_size;
  absl::StatusOr<Schedule> schedule = Schedule::Create(std::move(of_run));
  const absl::Status all[] = {CheckRank(options.rank, options.ranks),
                              CheckPrefetch(options.prefetch_batches),
                              schedule.status(),
                              CheckRoot(maker->root(), schedule)};
  PONIENTE_RETURN_IF_ERROR(JoinErrors(all));
  try {
    auto core = std::make_shared<Core>(std::move(maker), *std::move(schedule),
                                       std::move(options));
    return std::unique_ptr<ItemPrefetch>(new ItemPrefetch(std::move(core)));
  } catch (...) {
    return StartError(std::current_exception());
  }
}

ItemPrefetch::ItemPrefetch(std::shared_ptr<Core> core)
    : core_(std::move(core)) {}
ItemPrefetch::~ItemPrefetch() { core_->Stop(); }

Task<std::shared_ptr<void>> ItemPrefetch::Next() { return Core::Next(core_); }
absl::StatusOr<std::shared_ptr<void>> ItemPrefetch::NextBlocking() {
  const std::shared_ptr<Core> core = core_;  // the loader may be destroyed
  return core->NextBlocking();
}
std::optional<absl::StatusOr<std::shared_ptr<void>>> ItemPrefetch::TryNext() {
  const std::shared_ptr<Core> core = core_;
  return core->TryNext();
}
absl::StatusOr<int> ItemPrefetch::ReadyFd() { return core_->ReadyFd(); }
absl::Status ItemPrefetch::Seek(uint64_t step) { return core_->Seek(step); }
uint64_t ItemPrefetch::next_step() const { return core_->next_step(); }
std::string ItemPrefetch::State() const { return core_->State(); }
absl::StatusOr<std::string> ItemPrefetch::State(uint64_t step) const {
  return core_->State(step);
}
absl::Status ItemPrefetch::Resume(std::string_view state) {
  return core_->Resume(state);
}
Task<> ItemPrefetch::Close() { return Core::Close(core_); }
LoaderMetrics ItemPrefetch::metrics() const { return core_->metrics(); }
const DatasetTree& ItemPrefetch::tree() const { return core_->tree(); }

}  // namespace poniente::internal
