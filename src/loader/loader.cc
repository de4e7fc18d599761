// SPDX-License-Identifier: Apache-2.0
#include "poniente/loader.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <list>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "async/notifier.h"
#include "index/keyed_hash.h"
#include "loader/batch_access.h"
#include "loader/batch_assembler.h"
#include "loader/loader_counters.h"
#include "loader/loader_reports.h"
#include "loader/offered_batch.h"
#include "loader/prefetch_window.h"
#include "loader/reader_totals.h"
#include "loader/run_state.h"
#include "loader/sources.h"
#include "loader/thread_times.h"
#include "poniente/version.h"
#include "util/mutex.h"
#include "util/status_macros.h"

namespace poniente {

namespace asio = boost::asio;
using internal::FetchEnd;
using internal::LoaderCounters;
using internal::MutexLock;
using internal::Seconds;

// The loader's state, shared with the Next() calls that are still awaited.
// Its thread runs the fetches; Stop() joins it, so handlers may hold `this`.
class Loader::Core {
 public:
  Core(DatasetPtr<TokenWindow> dataset, Schedule schedule,
       LoaderOptions options)
      : dataset_(std::move(dataset)),
        schedule_(std::move(schedule)),
        options_(std::move(options)),
        slots_(internal::SlotRing::Create(
            options_.device, options_.prefetch_batches + options_.max_held + 1,
            [sink = options_.warning_sink](std::string_view line) {
              internal::EmitLine(sink, "warning: ", line);
            })),
        assembler_(dataset_, schedule_, options_, slots_),
        counters_(tree().leaves()),
        readers_(tree()),
        reports_(options_.report_every_steps, options_.log_sink,
                 options_.warning_sink),
        work_(asio::make_work_guard(context_)),
        window_(options_.start_step, options_.prefetch_batches,
                options_.prefetch_bytes) {
    thread_ = std::thread([this] {
      {
        MutexLock lock(&mu_);
        thread_times_.emplace();
      }
      RunFetches();
    });
  }

  void Stop() {
    CloseAndCancel();
    work_.reset();
    thread_.join();
  }

  class NextTicket;
  class Offer;
  static Task<Batch> Next(NextTicket asked);
  static Task<std::unique_ptr<internal::OfferedBatch>> NextOffer(
      NextTicket asked);
  absl::Status Seek(uint64_t step);
  static Task<> Close(std::shared_ptr<Core> core);

  uint64_t next_step() const {
    MutexLock lock(&mu_);
    return window_.next();
  }
  LoaderMetrics metrics() const;
  uint64_t fingerprint() const;
  std::string State() const;
  absl::Status Resume(std::string_view state);
  void WarnOfFallbacks() const {
    internal::WarnOfFallbacks(tree(), options_.warning_sink);
  }

  const Schedule& schedule() const { return schedule_; }
  const DatasetTree& tree() const { return assembler_.tree(); }

 private:
  using Fetched = absl::StatusOr<std::optional<Batch>>;
  struct Ready {
    Fetched fetched;
    LoaderCounters::Clock::time_point since;
  };
  using ReadySteps = std::map<uint64_t, Ready>;
  // All that its end needs, so that it can be told without memory.
  struct Fetch {
    uint64_t step() const { return ready.key(); }

    ReadySteps::node_type ready;  // of what it brings
    uint64_t bytes;
    uint64_t generation;
    bool is_cancelled = false;
    asio::cancellation_signal cancel;
    internal::FetchTimes times;
  };

  absl::StatusOr<bool> TakeReady(Offer* offer);
  void Deliver(uint64_t generation, Ready* ready);
  void TakeBack(uint64_t generation, ReadySteps::node_type taken);
  uint64_t NumReady() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void StartFetches() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // As many as there is memory for. Who waits for the next one tries again.
  void TryToStartFetches() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void StartFetch(uint64_t step, uint64_t bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RunFetches();
  void TryToNotify();
  void Launch(std::list<Fetch>::iterator fetch);
  void Arrive(std::list<Fetch>::iterator fetch, Fetched fetched);
  static FetchEnd EndOf(const Fetched& fetched, bool is_wanted);
  void Report() {
    reports_.AfterStep([this] { return metrics(); });
  }
  void CloseAndCancel();
  void Restart(uint64_t step) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Those under way of earlier generations.
  void CancelBefore(uint64_t generation);
  absl::Status ClosedError() const {
    return absl::FailedPreconditionError("the loader is closed");
  }
  absl::Status BrokenError() const {
    return absl::ResourceExhaustedError(
        "the loader's event loop ran out of memory, and does not go on; open "
        "the loader again at the step that is next, with fewer "
        "prefetch_batches or more memory");
  }
  absl::Status HeldError() const {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the consumer holds ", slots_->num_held(),
        " batches (or tensors of them), max_held is ", options_.max_held,
        "; release one before the next, or set max_held higher"));
  }

  // Constant after construction.
  const DatasetPtr<TokenWindow> dataset_;
  const Schedule schedule_;
  const LoaderOptions options_;
  const std::shared_ptr<internal::SlotRing> slots_;
  const internal::BatchAssembler assembler_;

  // Any thread; reports_ is that of the one Next().
  LoaderCounters counters_;
  const internal::ReaderTotals readers_;
  internal::LoaderReports reports_;

  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::thread thread_;

  // Any thread.
  internal::Notifier changed_;
  mutable internal::Mutex mu_;
  internal::PrefetchWindow window_ ABSL_GUARDED_BY(mu_);
  ReadySteps ready_ ABSL_GUARDED_BY(mu_);
  std::list<Fetch> under_way_ ABSL_GUARDED_BY(mu_);
  std::optional<internal::ThreadTimes> thread_times_ ABSL_GUARDED_BY(mu_);
  bool is_closed_ ABSL_GUARDED_BY(mu_) = false;
  bool is_broken_ ABSL_GUARDED_BY(mu_) = false;
  bool next_awaited_ ABSL_GUARDED_BY(mu_) = false;
};

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

uint64_t Loader::Core::NumReady() const {
  uint64_t ready = 0;
  for (const auto& [step, one] : ready_) {
    ready += EndOf(one.fetched, true) == FetchEnd::kReady ? 1 : 0;
  }
  return ready;
}

void Loader::Core::StartFetches() {
  if (is_closed_) return;
  uint64_t bytes = 0;  // of the step that is started
  const auto bytes_of = [this, &bytes](uint64_t step) {
    return bytes = assembler_.BytesOf(step);
  };
  while (const std::optional<uint64_t> step = window_.Start(bytes_of)) {
    try {
      StartFetch(*step, bytes);
    } catch (...) {
      window_.TakeBackStart();
      throw;
    }
  }
}

void Loader::Core::TryToStartFetches() {
  try {
    StartFetches();
  } catch (const std::bad_alloc&) {
  }
}

void Loader::Core::StartFetch(uint64_t step, uint64_t bytes) {
  std::list<Fetch> one(1);
  ReadySteps nodes;
  nodes.emplace(step, Ready{std::optional<Batch>(), {}});
  const auto fetch = one.begin();
  fetch->ready = nodes.extract(step);
  fetch->bytes = bytes;
  fetch->generation = window_.generation();
  // Posted: co_spawn would begin to read here and now, under the lock.
  asio::post(context_, [this, fetch] { Launch(fetch); });
  under_way_.splice(under_way_.end(), one);
}

void Loader::Core::TryToNotify() {
  try {
    changed_.NotifyAll();
  } catch (const std::bad_alloc&) {
    // Who waits is dropped, and told so by its own event loop.
  }
}

// The loader's thread. What Asio itself had no memory for is lost: a fetch
// that will not end, a wait that is not over.
void Loader::Core::RunFetches() {
  while (true) {
    try {
      context_.run();
      return;
    } catch (const std::bad_alloc&) {
      MutexLock lock(&mu_);
      is_broken_ = true;
    }
    TryToNotify();
  }
}

// On the loader's thread. What was posted from that very thread may come later
// than what others posted after it, so the signal that cancels this fetch may
// have been given already, to nobody.
void Loader::Core::Launch(std::list<Fetch>::iterator fetch) {
  counters_.FetchBegan(LoaderCounters::Clock::now());
  bool is_stale;
  {
    MutexLock lock(&mu_);
    is_stale = fetch->generation != window_.generation();
  }
  if (is_stale) {
    Arrive(fetch, absl::CancelledError("no longer wanted"));
    return;
  }
  auto arrive = [this, fetch](std::exception_ptr thrown, Fetched fetched) {
    if (thrown) fetched = internal::StatusFromException(thrown);
    Arrive(fetch, std::move(fetched));
  };
  try {
    asio::co_spawn(
        context_, assembler_.Assemble(fetch->step(), &fetch->times),
        asio::bind_cancellation_slot(fetch->cancel.slot(), std::move(arrive)));
  } catch (const std::bad_alloc&) {
    Arrive(fetch, internal::OutOfMemory());
  }
}

FetchEnd Loader::Core::EndOf(const Fetched& fetched, bool is_wanted) {
  if (!fetched.ok()) return is_wanted ? FetchEnd::kFailed : FetchEnd::kNothing;
  if (!fetched->has_value()) return FetchEnd::kNothing;
  return is_wanted ? FetchEnd::kReady : FetchEnd::kDropped;
}

// On the loader's thread.
void Loader::Core::Arrive(std::list<Fetch>::iterator fetch, Fetched fetched) {
  const auto now = LoaderCounters::Clock::now();
  {
    MutexLock lock(&mu_);
    const bool is_wanted =
        window_.Arrive(fetch->step(), fetch->generation, fetch->bytes) &&
        !is_closed_;
    counters_.FetchEnded(now, EndOf(fetched, is_wanted), fetch->times);
    if (is_wanted) {
      if (fetched.ok() && !fetched->has_value()) window_.EndAt(fetch->step());
      fetch->ready.mapped() = {std::move(fetched), now};
      ready_.insert(std::move(fetch->ready));
    }
    under_way_.erase(fetch);
    TryToStartFetches();
  }
  changed_.NotifyAll();
}

void Loader::Core::Restart(uint64_t step) {
  window_.Restart(step);
  counters_.Restarted(NumReady());
  ready_.clear();
  const uint64_t current = window_.generation();
  try {
    // Signals may be emitted on the loader's thread only.
    asio::post(context_, [this, current] { CancelBefore(current); });
  } catch (const std::bad_alloc&) {
    // What is no longer wanted comes to its end, and is dropped then.
  }
}

void Loader::Core::CancelBefore(uint64_t generation) {
  while (true) {
    Fetch* stale = nullptr;
    {
      MutexLock lock(&mu_);
      for (Fetch& fetch : under_way_) {
        if (fetch.generation < generation && !fetch.is_cancelled) {
          stale = &fetch;
        }
      }
      if (stale == nullptr) return;
      stale->is_cancelled = true;
    }
    stale->cancel.emit(asio::cancellation_type::terminal);
  }
}

void Loader::Core::CloseAndCancel() {
  {
    MutexLock lock(&mu_);
    is_closed_ = true;
    Restart(window_.next());
  }
  TryToNotify();
}

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
  if (slots_->num_held() > options_.max_held) return HeldError();
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

Task<std::unique_ptr<internal::OfferedBatch>> Loader::Core::NextOffer(
    NextTicket asked) {
  // The ticket goes with the call, not with its awaitable.
  auto offer = std::make_unique<Offer>(std::move(asked));
  if (!offer->TakeTicket()) {
    co_return absl::FailedPreconditionError(
        "another Next() of this loader is still awaited");
  }
  Core* const core = offer->core();
  core->counters_.Asked(LoaderCounters::Clock::now());
  // After a turn of the executor, what this gives reaches whoever awaits it
  // without another, in which the wait for it could be given up.
  co_await asio::post(asio::use_awaitable);
  while (true) {
    const asio::cancellation_state cancellation =
        co_await asio::this_coro::cancellation_state;
    if (cancellation.cancelled() != asio::cancellation_type::none) {
      co_return absl::CancelledError("cancelled by the caller");
    }
    const uint64_t seen = core->changed_.version();
    const absl::StatusOr<bool> is_there = core->TakeReady(offer.get());
    if (!is_there.ok()) co_return is_there.status();
    if (*is_there) co_return offer;
    absl::Status waited = co_await core->changed_.WaitPast(seen);
    if (!waited.ok()) co_return waited;
  }
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
      if (core->under_way_.empty() || core->is_broken_) {
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
  metrics.batches_under_way = under_way_.size();
  if (thread_times_.has_value()) {
    metrics.cpu_seconds = Seconds(thread_times_->Computed());
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

std::string Loader::Core::State() const {
  return internal::PrintRunState(
      internal::RunStateAt(*dataset_, schedule_, next_step()));
}

absl::Status Loader::Core::Resume(std::string_view state) {
  PONIENTE_ASSIGN_OR_RETURN(const internal::RunState saved,
                            internal::ParseRunState(state));
  PONIENTE_RETURN_IF_ERROR(internal::CheckGoesOn(saved, *dataset_, schedule_));
  return Seek(saved.step);
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
absl::StatusOr<Batch> Loader::NextBlocking() { return RunBlocking(Next()); }
absl::Status Loader::Seek(uint64_t step) { return core_->Seek(step); }
std::string Loader::State() const { return core_->State(); }
absl::Status Loader::Resume(std::string_view state) {
  return core_->Resume(state);
}
uint64_t Loader::next_step() const { return core_->next_step(); }
Task<> Loader::Close() { return Core::Close(core_); }
absl::Status Loader::CloseBlocking() { return RunBlocking(Close()); }
const Schedule& Loader::schedule() const { return core_->schedule(); }
std::vector<Source> Loader::sources() const {
  return internal::SourcesOf(core_->tree());
}
LoaderMetrics Loader::metrics() const { return core_->metrics(); }
const DatasetTree& Loader::tree() const { return core_->tree(); }
uint64_t Loader::fingerprint() const { return core_->fingerprint(); }

}  // namespace poniente
