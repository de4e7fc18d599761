// SPDX-License-Identifier: Apache-2.0
#include "poniente/loader.h"

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "index/keyed_hash.h"
#include "io/range_source.h"
#include "loader/batch_access.h"
#include "loader/batch_assembler.h"
#include "loader/loader_core.h"
#include "loader/offered_batch.h"
#include "loader/state/run_state.h"
#include "poniente/version.h"
#include "util/mutex.h"
#include "util/status_macros.h"

namespace poniente {

namespace asio = boost::asio;
using internal::LoaderCounters;
using internal::MutexLock;
using internal::Seconds;

namespace {

// The leaves, in the order of the tree, as they are read now.
std::vector<Source> SourcesOf(const DatasetTree& tree) {
  std::vector<Source> sources;
  for (const TreeLeaf& leaf : tree.leaves()) {
    Source& source = sources.emplace_back();
    source.path = leaf.path;
    source.dataset = leaf.node->name();
    source.backend = "memory";
    if (const RangeSource* const ranges = leaf.node->ranges()) {
      source.backend = IoBackendName(ranges->reader().backend());
      source.fallback_reason = ranges->reader().fallback_reason();
    }
  }
  return sources;
}

}  // namespace

// Held by the Next() in progress; released when its coroutine ends.
class Loader::Core::NextTicket {
 public:
  explicit NextTicket(std::shared_ptr<Core> core) : core_(std::move(core)) {}
  NextTicket(NextTicket&&) = default;
  ~NextTicket() {
    if (core_ == nullptr || !taken_.value_or(false)) return;
    core_->counters_.GaveUp(LoaderCounters::Clock::now());
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
  Core* core() const { return core_.get(); }

 private:
  std::shared_ptr<Core> core_;
  std::optional<bool> taken_;
};

class Loader::Core::Offer final : public internal::OfferedBatch {
 public:
  explicit Offer(NextTicket ticket) : ticket_(std::move(ticket)) {}
  ~Offer() override {
    if (!taken_.empty()) core()->TakeBack(generation_, std::move(taken_));
  }

  bool TakeTicket() { return ticket_->Take(); }
  Core* core() const { return ticket_->core(); }
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

// Takes the next batch out for the one Next() if it is there, and does not
// deliver it; false: not yet; or the error in its place.
absl::StatusOr<bool> Loader::Core::TakeReady(Offer* offer) {
  MutexLock lock(&mu_);
  if (is_closed_) return ClosedError();
  if (is_broken_) return BrokenError();
  const uint64_t step = window_.next();
  if (window_.at_end()) {
    return absl::OutOfRangeError(
        absl::StrCat("the run has ended: there is no step ", step));
  }
  if (slots_->num_held() > options_.max_held) {
    if (!options_.waits_for_held) return HeldError();
    return false;
  }
  StartFetches();
  ReadySteps::node_type taken = ready_.extract(step);
  if (taken.empty()) return false;
  if (taken.mapped().fetched.ok()) {
    offer->Fill(window_.generation(), std::move(taken));
    return true;
  }
  Restart(step);
  absl::Status error =
      internal::Prepend(taken.mapped().fetched.status(),
                        absl::StrCat("step ", step, ", rank ", options_.rank));
  // A source's own; of a loader it would say that the run has ended.
  if (absl::IsOutOfRange(error)) error = absl::InternalError(error.message());
  return error;
}

// What was taken in this generation is the consumer's.
void Loader::Core::Deliver(uint64_t generation, Ready* ready) {
  Batch& batch = **ready->fetched;
  internal::BatchAccess::MarkHeld(&batch);
  counters_.Delivered(batch, ready->since);
  {
    MutexLock lock(&mu_);
    // Else a Seek() came between, and has said what is next.
    if (generation == window_.generation()) window_.Deliver();
    TryToStartFetches();
  }
  Report();
}

// What was taken is the next one again, unless a Seek() came between.
void Loader::Core::TakeBack(uint64_t generation, ReadySteps::node_type taken) {
  MutexLock lock(&mu_);
  if (generation == window_.generation()) {
    ready_.insert(std::move(taken));
  } else {
    counters_.Dropped();
  }
}

absl::StatusOr<std::unique_ptr<Loader::Core::Offer>> Loader::Core::Ask(
    NextTicket asked) {
  // The ticket goes with the call, not with its awaitable.
  auto offer = std::make_unique<Offer>(std::move(asked));
  if (!offer->TakeTicket()) {
    return absl::FailedPreconditionError(
        "another Next() of this loader is still awaited");
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
    if (core->FetchHere()) continue;
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

Task<Batch> Loader::Core::Next(NextTicket asked) {
  absl::StatusOr<std::unique_ptr<internal::OfferedBatch>> offered =
      co_await NextOffer(std::move(asked));
  if (!offered.ok()) co_return offered.status();
  co_return (*offered)->Accept();
}

absl::Status Loader::Core::Seek(uint64_t step) {
  {
    MutexLock lock(&mu_);
    if (is_closed_) return ClosedError();
    if (!schedule_.Has(step)) window_.EndAt(step);
    Restart(step);
  }
  changed_.NotifyAll();
  return absl::OkStatus();
}

Task<> Loader::Core::Close(std::shared_ptr<Core> core) {
  core->CloseAndCancel();
  while (true) {
    const uint64_t seen = core->changed_.version();
    {
      MutexLock lock(&core->mu_);
      const bool is_idle = core->queued_.empty() && core->under_way_.empty();
      if (is_idle || core->is_broken_) {
        co_return absl::OkStatus();
      }
    }
    absl::Status waited = co_await core->changed_.WaitPast(seen);
    if (!waited.ok()) co_return waited;
  }
}

LoaderMetrics Loader::Core::metrics() const {
  LoaderMetrics metrics = counters_.Read(LoaderCounters::Clock::now());
  const internal::ReaderTotals::Bytes bytes = readers_.Read();
  metrics.bytes_asked = bytes.asked;
  metrics.bytes_read = bytes.read;
  MutexLock lock(&mu_);
  metrics.next_step = window_.next();
  metrics.batches_ready = NumReady();
  metrics.batches_under_way = queued_.size() + under_way_.size();
  if (thread_times_.has_value()) {
    metrics.cpu_seconds += Seconds(thread_times_->Computed());
    metrics.cpu_wait_seconds = Seconds(thread_times_->WaitedForCore());
  }
  return metrics;
}

uint64_t Loader::Core::fingerprint() const {
  const StepPlan first = schedule_.At(0);
  return internal::Derive(dataset_->fingerprint(), internal::Tag("loader"),
                          uint64_t{kOrderVersion}, first.batch_size,
                          uint64_t{first.seq_len});
}

absl::StatusOr<std::string> Loader::Core::State(uint64_t step) const {
  const uint64_t steps = schedule_.steps();
  const bool is_known =
      steps > 0 ? step <= steps : step == 0 || schedule_.Has(step - 1);
  if (!is_known) {
    return absl::OutOfRangeError(absl::StrCat(
        "there is no state at step ", step, ": the run ends before it",
        steps > 0 ? absl::StrCat(", after ", steps, " steps") : ""));
  }
  return StateAt(step);
}

std::string Loader::Core::StateAt(uint64_t step) const {
  return internal::PrintRunState(
      internal::RunStateAt(*dataset_, schedule_, step));
}

absl::Status Loader::Core::Resume(std::string_view state) {
  PONIENTE_ASSIGN_OR_RETURN(const internal::RunState saved,
                            internal::ParseRunState(state));
  PONIENTE_RETURN_IF_ERROR(internal::CheckGoesOn(saved, *dataset_, schedule_));
  return Seek(saved.step);
}

void Loader::Core::WarnOfFallbacks() const {
  for (const Source& source : SourcesOf(tree())) {
    if (source.fallback_reason.empty()) continue;
    internal::EmitLine(
        options_.warning_sink, "warning: ",
        absl::StrCat("reading '", source.path, "' by ", source.backend, ": ",
                     source.fallback_reason));
  }
}

absl::StatusOr<std::unique_ptr<Loader>> Loader::Create(
    DatasetPtr<TokenWindow> dataset, Schedule schedule, LoaderOptions options) {
  if (dataset == nullptr) {
    return absl::InvalidArgumentError("a loader needs a dataset, got none");
  }
  PONIENTE_RETURN_IF_ERROR(internal::BatchAssembler::Check(
      DatasetTree(*dataset), *dataset, schedule, options));
  std::shared_ptr<Core> core;
  try {
    core = std::make_shared<Core>(std::move(dataset), std::move(schedule),
                                  std::move(options));
  } catch (const std::exception& error) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "cannot start the loader's thread and event loop: ", error.what(),
        "; raise the limits of processes and open files (ulimit -u, -n)"));
  }
  core->WarnOfFallbacks();
  return std::unique_ptr<Loader>(new Loader(std::move(core)));
}

Loader::Loader(std::shared_ptr<Core> core) : core_(std::move(core)) {}
Loader::~Loader() { core_->Stop(); }

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
absl::Status Loader::Seek(uint64_t step) { return core_->Seek(step); }
std::string Loader::State() const { return core_->StateAt(next_step()); }
absl::StatusOr<std::string> Loader::State(uint64_t step) const {
  return core_->State(step);
}
absl::Status Loader::Resume(std::string_view state) {
  return core_->Resume(state);
}
uint64_t Loader::next_step() const { return core_->next_step(); }
Task<> Loader::Close() { return Core::Close(core_); }
absl::Status Loader::CloseBlocking() { return RunBlocking(Close()); }
const Schedule& Loader::schedule() const { return core_->schedule(); }
std::vector<Source> Loader::sources() const { return SourcesOf(core_->tree()); }
LoaderMetrics Loader::metrics() const { return core_->metrics(); }
const DatasetTree& Loader::tree() const { return core_->tree(); }
uint64_t Loader::fingerprint() const { return core_->fingerprint(); }

}  // namespace poniente
