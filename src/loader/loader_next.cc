// SPDX-License-Identifier: Apache-2.0
// How a loader hands out batches: Next(), NextBlocking(), TryNext(), and the
// descriptor that says when they return at once.
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <optional>
#include <utility>

#include "loader/batch_access.h"
#include "loader/loader_core.h"
#include "loader/loader_errors.h"
#include "loader/offered_batch.h"
#include "util/mutex.h"
#include "util/status_macros.h"

namespace poniente {

namespace asio = boost::asio;
using internal::LoaderCounters;
using internal::MutexLock;

// Held by the Next() in progress; released when its coroutine ends.
class Loader::Core::NextTicket {
 public:
  explicit NextTicket(std::shared_ptr<Core> core) : core_(std::move(core)) {}
  NextTicket(NextTicket&&) = default;
  ~NextTicket() {
    if (core_ == nullptr || !taken_.value_or(false)) return;
    if (!still_waits_) core_->counters_.GaveUp(LoaderCounters::Clock::now());
    MutexLock lock(&core_->mu_);
    core_->next_awaited_ = false;
  }

  // The first call decides: false if another Next() has the ticket.
  bool Take() {
    if (!taken_.has_value()) {
      MutexLock lock(&core_->mu_);
      taken_ = !std::exchange(core_->next_awaited_, true);
    }
    return *taken_;
  }
  // Between two TryNext(), the consumer waits without a ticket.
  void LetConsumerWait() { still_waits_ = true; }
  const std::shared_ptr<Core>& core() const { return core_; }

 private:
  std::shared_ptr<Core> core_;
  std::optional<bool> taken_;
  bool still_waits_ = false;
};

class Loader::Core::Offer final : public internal::OfferedBatch {
 public:
  explicit Offer(NextTicket ticket) : ticket_(std::move(ticket)) {}
  ~Offer() override {
    if (!taken_.empty()) core()->TakeBack(generation_, std::move(taken_));
  }

  bool TakeTicket() { return ticket_->Take(); }
  void LetConsumerWait() { ticket_->LetConsumerWait(); }
  Core* core() const { return ticket_->core().get(); }
  void Fill(uint64_t generation, ReadySteps::node_type taken) {
    generation_ = generation;
    taken_ = std::move(taken);
  }

  Batch Accept() override {
    Ready ready = std::move(taken_.mapped());
    taken_ = {};
    core()->Deliver(generation_, &ready);
    ticket_.reset();
    return std::move(**ready.fetched);
  }

 private:
  std::optional<NextTicket> ticket_;
  uint64_t generation_ = 0;
  ReadySteps::node_type taken_;  // empty: nothing is there yet
};

// Whether TakeReady() would find a batch or an error.
bool Loader::Core::IsReady() const {
  if (is_closed_ || is_broken_) return true;
  if (held_back_ && window_.next() >= *held_back_) return false;
  if (window_.at_end()) return true;
  if (slots_->num_held() > options_.max_held) return !options_.waits_for_held;
  // If there was no memory to begin the next batch, nothing else will come: the
  // next call begins it, or returns ResourceExhausted.
  return ready_.contains(window_.next()) ||
         (queued_.empty() && under_way_.empty());
}

// Call it after every change of what IsReady() looks at. Whoever waits for the
// descriptor asks for no batch meanwhile, so this starts the fetches, too.
void Loader::Core::UpdateReadyEvent() {
  if (ready_event_ == nullptr) return;
  TryToStartFetches();
  ready_event_->Set(IsReady());
}

absl::StatusOr<int> Loader::Core::ReadyFd() try {
  {
    MutexLock lock(&mu_);
    if (ready_event_ != nullptr) return ready_event_->fd();
  }
  PONIENTE_ASSIGN_OR_RETURN(std::unique_ptr<internal::ReadyEvent> event,
                            internal::ReadyEvent::Create());
  // Before the first look at how many are held.
  slots_->OnReturn([this] {
    if (options_.waits_for_held) TryToNotify();
    MutexLock lock(&mu_);
    UpdateReadyEvent();
  });
  MutexLock lock(&mu_);
  if (ready_event_ == nullptr) ready_event_ = std::move(event);
  UpdateReadyEvent();
  return ready_event_->fd();
} catch (...) {
  return internal::StatusFromException(std::current_exception());
}

// Takes the next batch out for the one Next() if it is there, and does not
// deliver it; false: not yet; or the error in its place. A batch that was taken
// out stays ready for the descriptor until it is delivered or taken back.
absl::StatusOr<bool> Loader::Core::TakeReady(Offer* offer) {
  MutexLock lock(&mu_);
  if (is_closed_) return internal::LoaderClosed();
  if (is_broken_) return internal::LoaderBroken();
  const uint64_t step = window_.next();
  if (held_back_ && step >= *held_back_) return false;
  if (window_.at_end()) return internal::RunHasEnded(step);
  if (slots_->num_held() > options_.max_held) {
    if (!options_.waits_for_held) return HeldError();
    return false;
  }
  StartFetches();
  ReadySteps::node_type taken = ready_.extract(step);
  if (taken.empty()) {
    UpdateReadyEvent();
    return false;
  }
  if (taken.mapped().fetched.ok()) {
    offer->Fill(window_.GenerationOfNext(), std::move(taken));
    is_offered_ = true;
    return true;
  }
  Restart(step);
  UpdateReadyEvent();
  return internal::AtStep(taken.mapped().fetched.status(), step, options_.rank);
}

// What was taken in this generation is the consumer's.
void Loader::Core::Deliver(uint64_t generation, Ready* ready) {
  Batch& batch = **ready->fetched;
  internal::BatchAccess::MarkHeld(&batch);
  const uint64_t step = batch.step();
  counters_.Delivered(batch, ready->since);
  {
    MutexLock lock(&mu_);
    is_offered_ = false;
    // Else a Seek() came between, and has said what is next.
    if (window_.IsWanted(batch.step(), generation)) window_.Deliver();
    TryToStartFetches();
    UpdateReadyEvent();
  }
  Report(step);
}

// What was taken is the next one again, unless a Seek() came between.
void Loader::Core::TakeBack(uint64_t generation, ReadySteps::node_type taken) {
  MutexLock lock(&mu_);
  is_offered_ = false;
  if (window_.IsWanted(taken.key(), generation)) {
    ready_.insert(std::move(taken));
    UpdateReadyEvent();
  } else if (taken.mapped().has_batch()) {
    counters_.Dropped(1);
  }
}

absl::StatusOr<std::unique_ptr<Loader::Core::Offer>> Loader::Core::Ask(
    NextTicket asked) {
  // The ticket goes with the call, not with its awaitable.
  auto offer = std::make_unique<Offer>(std::move(asked));
  if (!offer->TakeTicket()) {
    return internal::NextIsAwaited();
  }
  offer->core()->counters_.Asked(LoaderCounters::Clock::now());
  return offer;
}

Task<std::unique_ptr<internal::OfferedBatch>> Loader::Core::NextOffer(
    NextTicket asked) {
  absl::StatusOr<std::unique_ptr<Offer>> offer = Ask(std::move(asked));
  if (!offer.ok()) co_return offer.status();
  // After a turn of the executor, what this gives reaches whoever awaits it
  // without another, in which the wait for it could be given up.
  co_await asio::post(asio::use_awaitable);
  Core* const core = (*offer)->core();
  while (true) {
    const asio::cancellation_state cancellation =
        co_await asio::this_coro::cancellation_state;
    if (cancellation.cancelled() != asio::cancellation_type::none) {
      co_return absl::CancelledError("cancelled by the caller");
    }
    const uint64_t seen = core->changed_.version();
    const absl::StatusOr<bool> is_there = core->TakeReady(offer->get());
    if (!is_there.ok()) co_return is_there.status();
    if (*is_there) co_return *std::move(offer);
    core->CallHelper();
    absl::Status waited = co_await core->changed_.WaitPast(seen);
    if (!waited.ok()) co_return waited;
  }
}

// Without an event loop: a batch that is ready, or nearly, is taken at once.
absl::StatusOr<Batch> Loader::Core::NextBlocking(NextTicket asked) try {
  PONIENTE_ASSIGN_OR_RETURN(const std::unique_ptr<Offer> offer,
                            Ask(std::move(asked)));
  Core* const core = offer->core();
  while (true) {
    const uint64_t seen = core->changed_.version();
    PONIENTE_ASSIGN_OR_RETURN(const bool is_there,
                              core->TakeReady(offer.get()));
    if (is_there) return offer->Accept();
    if (core->Help(&core->consumer_context_)) continue;
    if (core->next_spin_.Wait(
            [core, seen] { return core->changed_.version() != seen; })) {
      continue;
    }
    core->changed_.BlockPast(seen);
    core->next_spin_.Slept();
  }
} catch (...) {
  return internal::StatusFromException(std::current_exception());
}

std::optional<absl::StatusOr<Batch>> Loader::Core::TryNext(
    NextTicket asked) try {
  const std::shared_ptr<Core> core = asked.core();  // beyond the offer's end
  const absl::StatusOr<std::unique_ptr<Offer>> offer = Ask(std::move(asked));
  if (!offer.ok()) return offer.status();
  const absl::StatusOr<bool> is_there = core->TakeReady(offer->get());
  if (!is_there.ok()) return is_there.status();
  std::optional<absl::StatusOr<Batch>> batch;
  if (*is_there) {
    batch = (*offer)->Accept();
  } else {
    (*offer)->LetConsumerWait();
  }
  // Also behind a batch: a consumer that waits for the descriptor does not ask
  // until there is another.
  core->CallHelper();
  return batch;
} catch (...) {
  return internal::StatusFromException(std::current_exception());
}

Task<Batch> Loader::Core::Next(NextTicket asked) {
  absl::StatusOr<std::unique_ptr<internal::OfferedBatch>> offered =
      co_await NextOffer(std::move(asked));
  if (!offered.ok()) co_return offered.status();
  co_return (*offered)->Accept();
}

Task<Batch> Loader::Next() { return Core::Next(Core::NextTicket(core_)); }
Task<std::unique_ptr<internal::OfferedBatch>> internal::BeginNext(
    Loader& loader) {
  Loader::Core::NextTicket ticket(loader.core_);
  ticket.Take();
  return Loader::Core::NextOffer(std::move(ticket));
}
absl::StatusOr<Batch> Loader::NextBlocking() {
  return Core::NextBlocking(Core::NextTicket(core_));
}
std::optional<absl::StatusOr<Batch>> Loader::TryNext() {
  return Core::TryNext(Core::NextTicket(core_));
}
absl::StatusOr<int> Loader::ReadyFd() { return core_->ReadyFd(); }

}  // namespace poniente
