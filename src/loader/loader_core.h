// SPDX-License-Identifier: Apache-2.0
// The implementation of a Loader: fetches batches ahead of the consumer
// (loader_fetches.cc), and returns them in order (loader_next.cc).

#ifndef PONIENTE_LOADER_LOADER_CORE_H_
#define PONIENTE_LOADER_LOADER_CORE_H_

#include <algorithm>
#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "async/notifier.h"
#include "dataset/steering/steered_run.h"
#include "io/files/ready_event.h"
#include "loader/batch_assembler.h"
#include "loader/helper_thread.h"
#include "loader/metrics/loader_counters.h"
#include "loader/metrics/loader_reports.h"
#include "loader/metrics/reader_totals.h"
#include "loader/offered_batch.h"
#include "loader/opened_once.h"
#include "loader/prefetch_thread.h"
#include "loader/prefetch_window.h"
#include "poniente/journal.h"
#include "poniente/loader.h"
#include "util/mutex.h"
#include "util/short_spin.h"

namespace poniente {

// The loader's state, shared with the Next() calls that are still awaited.
// Its threads run the fetches; Stop() joins them, so handlers may hold `this`.
// While batches come from memory, a consumer that waits for one has help: a
// thread that is blocked in NextBlocking() takes fetches from the same queue,
// and a thread of the loader's does for a coroutine.
class Loader::Core {
 public:
  // `run` is under the entries of options.journal.
  Core(internal::SteeredRun run, LoaderOptions options);
  // Ends all fetches and joins the loader's thread.
  void Stop();

  class NextTicket;
  class Offer;
  static Task<Batch> Next(NextTicket asked);
  static Task<std::unique_ptr<internal::OfferedBatch>> NextOffer(
      NextTicket asked);
  static absl::StatusOr<Batch> NextBlocking(NextTicket asked);
  static std::optional<absl::StatusOr<Batch>> TryNext(NextTicket asked);
  absl::StatusOr<int> ReadyFd();
  absl::Status Seek(uint64_t step);
  absl::StatusOr<std::string> Propose(const RunChange& change,
                                      const SteerOptions& options) const;
  absl::StatusOr<uint64_t> Steer(std::string_view line);
  absl::StatusOr<uint64_t> Steer(const RunChange& change,
                                 const SteerOptions& options);
  Journal journal() const;
  std::optional<uint64_t> last_decision() const;
  static Task<> Close(std::shared_ptr<Core> core);

  uint64_t next_step() const {
    internal::MutexLock lock(&mu_);
    return window_.next();
  }
  LoaderMetrics metrics() const;
  uint32_t prefetch_batches() const { return options_.prefetch_batches; }
  uint64_t fingerprint() const;
  std::string State() const;
  absl::StatusOr<std::string> State(uint64_t step) const;
  absl::Status Resume(std::string_view state);
  // Emits a warning for each leaf from number `first` on that is not read by
  // its preferred backend.
  void WarnOfFallbacks(size_t first = 0) const;

  std::vector<LoaderSource> sources() const;
  const Schedule& schedule() const { return Current()->run.schedule; }
  const DatasetTree& tree() const { return Current()->assembler.tree(); }

  // Returns the options for a run to which sources were added, without the
  // journal.
  static LoaderOptions WithLossWeights(const LoaderOptions& options,
                                       const internal::SteeredRun& run);

 private:
  // The run as it is between two changes.
  struct Edition {
    Edition(internal::SteeredRun steered, const LoaderOptions& options,
            const std::shared_ptr<internal::SlotRing>& slots,
            std::shared_ptr<const Edition> same = nullptr)
        : run(std::move(steered)),
          own_options(run.loss_weights.empty()
                          ? std::nullopt
                          : std::optional(WithLossWeights(options, run))),
          assembler(run.dataset, run.schedule,
                    own_options ? *own_options : options, slots),
          grows(!run.dataset->length_now().is_final),
          unsettled(std::move(same)) {}

    const internal::SteeredRun run;
    // Unset: those of the loader, which are too large to be copied each time.
    const std::optional<LoaderOptions> own_options;
    const internal::BatchAssembler assembler;
    // Whether lengths were not final when it was made.
    const bool grows;
    // That of the same run before its lengths were final, if there was one: the
    // caller may hold references to its schedule and tree.
    const std::shared_ptr<const Edition> unsettled;
  };
  using EditionPtr = std::shared_ptr<const Edition>;
  EditionPtr Current() const {
    internal::MutexLock lock(&mu_);
    return edition_;
  }
  using Fetched = absl::StatusOr<std::optional<Batch>>;
  struct Ready {
    Fetched fetched;
    internal::LoaderCounters::Clock::time_point since;
    // Neither an error nor the end of the run.
    bool has_batch() const { return fetched.ok() && fetched->has_value(); }
  };
  using ReadySteps = std::map<uint64_t, Ready>;
  // A fetch in progress. Holds all memory that its end needs, so that its
  // result can be stored even if no memory is left.
  struct Fetch {
    uint64_t step() const { return ready.key(); }

    ReadySteps::node_type ready;  // filled with the result
    EditionPtr edition;           // that makes it
    uint64_t bytes;
    uint64_t generation;
    bool is_stale = false;  // once begun: was not wanted any more then
    bool is_cancelled = false;
    // Not on the loader's thread; not cancelled, as signals may be emitted
    // there only.
    bool is_of_helper = false;
    internal::LoaderCounters::Clock::time_point began;
    boost::asio::cancellation_signal cancel;
    internal::FetchTimes times;
  };

  // Makes the offer of the one Next(), which counts from here on.
  static absl::StatusOr<std::unique_ptr<Offer>> Ask(NextTicket asked);
  absl::StatusOr<bool> TakeReady(Offer* offer);
  bool IsReady() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void UpdateReadyEvent() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Deliver(uint64_t generation, Ready* ready);
  void TakeBack(uint64_t generation, ReadySteps::node_type taken);
  // Returns how many steps from this one on have a batch that is ready.
  uint64_t NumReady(uint64_t from_step = 0) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void StartFetches() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Starts as many fetches as there is memory for. If memory runs out,
  // Next() tries again.
  void TryToStartFetches() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void StartFetch(uint64_t step, uint64_t bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Takes the first fetch that nobody has begun; end() if there is none.
  std::list<Fetch>::iterator BeginFetch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Ends the loader's work for good, and tells all who wait.
  void Break();
  void TryToNotify();
  void LaunchNext();
  void Launch(boost::asio::io_context* context,
              std::list<Fetch>::iterator fetch);
  bool MayHelp() const;
  bool Help(boost::asio::io_context* context);
  void CallHelper();
  void CountHelpersFetch(const Fetch& fetch);
  boost::asio::awaitable<void> Run(std::list<Fetch>::iterator fetch);
  void Arrive(std::list<Fetch>::iterator fetch, Fetched fetched);
  void End(std::list<Fetch>::iterator fetch);
  static internal::FetchEnd EndOf(const Fetched& fetched, bool is_wanted);
  // `step`: of the batch that has been handed out.
  void Report(uint64_t step) {
    reports_.AfterStep([this] { return metrics(); });
    if (!says_epochs()) return;
    reports_.AfterEpochs(step, counters_.HasEpochNews() ? &counters_ : nullptr);
  }
  // One rank speaks for all.
  bool says_epochs() const {
    return options_.rank == 0 && options_.context.rank == 0;
  }
  void CloseAndCancel();
  void Restart(uint64_t step) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Cancels the fetches in progress that are not wanted any more.
  void CancelStale();
  void PostCancelStale();
  // Returns the first step that has not been handed out, and is not being
  // handed out at this moment.
  uint64_t FreeStep() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return window_.next() + (is_offered_ ? 1 : 0);
  }
  // Where a change holds, and the step at which it is decided.
  struct Place {
    uint64_t sample = 0;
    uint64_t step = 0;
  };
  // Returns the first step that a change may reach.
  uint64_t FreeStep(const SteerOptions& options) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return options.keeps_prefetched ? std::max(FreeStep(), window_.end_begun())
                                    : FreeStep();
  }
  // Returns the place of a change that is decided now.
  absl::StatusOr<Place> EarliestPlace(const RunChange& change,
                                      const SteerOptions& options) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Returns the change, or `printed`: what it adds with its fingerprint.
  absl::StatusOr<const RunChange*> Opened(const RunChange& change,
                                          RunChange* printed) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(steering_mu_);
  // Returns the journal's line of a change at this place, or where the last one
  // holds if that is later.
  absl::StatusOr<std::string> LineAt(const RunChange& change,
                                     const Place& place) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(steering_mu_);
  // Returns its line if it is decided now. `holds_back`: from then on, hands
  // out no step that it might reach; for the time of a HeldBack.
  absl::StatusOr<std::string> LineNow(const RunChange& change,
                                      const SteerOptions& options,
                                      bool holds_back)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(steering_mu_);
  struct ChangedRun {
    internal::SteeredRun run;
    uint64_t step;  // the first that differs
  };
  absl::StatusOr<ChangedRun> Changed(const Edition& edition,
                                     const JournalEntry& entry) const;
  // Adds a line to the journal, and takes it into effect. Returns the first
  // step that it changes. Sets `is_late` if such a step has been handed out.
  absl::StatusOr<uint64_t> SteerBy(std::string_view line,
                                   bool* is_late = nullptr)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(steering_mu_);
  // Hands out no step from `step` on until LetGo(). FailedPrecondition if one
  // has been handed out.
  absl::Status HoldBack(uint64_t step, const JournalEntry& entry,
                        bool* is_late);
  void LetGo();
  // Once, after a change of which nobody has the line.
  void WarnIfNotKept() ABSL_EXCLUSIVE_LOCKS_REQUIRED(steering_mu_);
  class HeldBack;
  void Adopt(EditionPtr edition, uint64_t step);
  // Once the lengths of an edition are final, goes on with one that knows where
  // items lie in files; it serves the same.
  void Settle(const EditionPtr& edition);
  absl::Status HeldError() const {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the consumer holds ", slots_->num_held(),
        " batches (or tensors of them), max_held is ", options_.max_held,
        "; release one before the next, or set max_held higher"));
  }

  // Constant after construction.
  const LoaderOptions options_;
  const std::shared_ptr<internal::SlotRing> slots_;

  // The run as it is now, and as it was before the last change, so that what
  // schedule() and tree() returned stays valid for a while.
  mutable internal::Mutex mu_;
  EditionPtr edition_ ABSL_GUARDED_BY(mu_);
  EditionPtr edition_before_ ABSL_GUARDED_BY(mu_);

  // Used on any thread, except reports_: only the Next() in progress uses it.
  internal::LoaderCounters counters_;
  internal::ReaderTotals readers_;
  internal::LoaderReports reports_;

  internal::PrefetchThread thread_;
  // The event loops of the fetches of a blocked consumer and of the helper,
  // which seldom need one.
  boost::asio::io_context consumer_context_{1};
  boost::asio::io_context helper_context_{1};
  internal::HelperThread helper_;

  internal::ShortSpin next_spin_;  // used by the Next() in progress
  // Fetches started so far that are left to the loader's thread, and those of
  // them that have ended; the latter is used on that thread.
  std::atomic<uint64_t> launched_ = 0;
  uint64_t arrived_ = 0;
  // Fetches of the loader's thread since it last had to wait for one.
  std::atomic<uint64_t> calm_fetches_ = 0;

  // Used on any thread.
  internal::Notifier changed_;
  internal::PrefetchWindow window_ ABSL_GUARDED_BY(mu_);
  ReadySteps ready_ ABSL_GUARDED_BY(mu_);
  std::list<Fetch> queued_ ABSL_GUARDED_BY(mu_);  // not begun, by step
  std::list<Fetch> under_way_ ABSL_GUARDED_BY(mu_);
  std::list<Fetch> ending_ ABSL_GUARDED_BY(mu_);  // arrived
  bool is_closed_ ABSL_GUARDED_BY(mu_) = false;
  bool is_broken_ ABSL_GUARDED_BY(mu_) = false;
  bool next_awaited_ ABSL_GUARDED_BY(mu_) = false;
  // A batch was taken out of ready_ and is neither delivered nor taken back.
  bool is_offered_ ABSL_GUARDED_BY(mu_) = false;
  // The step from which none is handed out while a change takes effect.
  std::optional<uint64_t> held_back_ ABSL_GUARDED_BY(mu_);

  internal::OpenedOnce opener_;  // used on any thread
  // The last one that was found; 0 before.
  mutable std::atomic<uint64_t> fingerprint_ = 0;

  // Held while a change is made. Before mu_.
  mutable internal::Mutex steering_mu_;
  Journal journal_ ABSL_GUARDED_BY(steering_mu_);
  bool has_warned_of_journal_ ABSL_GUARDED_BY(steering_mu_) = false;
  // Null until ReadyFd() is called.
  std::unique_ptr<internal::ReadyEvent> ready_event_ ABSL_GUARDED_BY(mu_);
};

}  // namespace poniente

#endif  // PONIENTE_LOADER_LOADER_CORE_H_
