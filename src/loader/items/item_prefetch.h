// SPDX-License-Identifier: Apache-2.0
// The implementation of an ItemLoader: requests batches ahead of the consumer
// (item_prefetch_requests.cc), and returns them in order (item_prefetch.cc).

#ifndef PONIENTE_LOADER_ITEMS_ITEM_PREFETCH_H_
#define PONIENTE_LOADER_ITEMS_ITEM_PREFETCH_H_

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "async/notifier.h"
#include "io/files/ready_event.h"
#include "loader/metrics/dataset_times.h"
#include "loader/metrics/fetch_times.h"
#include "loader/metrics/loader_counters.h"
#include "loader/metrics/loader_reports.h"
#include "loader/metrics/reader_totals.h"
#include "loader/prefetch_thread.h"
#include "loader/prefetch_window.h"
#include "poniente/dataset_tree.h"
#include "poniente/item_loader.h"
#include "poniente/schedule.h"
#include "util/mutex.h"
#include "util/short_spin.h"

namespace poniente::internal {

// The loader's state, shared with the Next() calls that are still awaited. Its
// thread runs the requests; Stop() joins it, so handlers may hold `this`.
class ItemPrefetch::Core {
 public:
  Core(std::unique_ptr<const ItemBatchMaker> maker, Schedule schedule,
       ItemPrefetchOptions options);
  // Ends all requests and joins the loader's thread.
  void Stop();

  static Task<std::shared_ptr<void>> Next(std::shared_ptr<Core> core);
  absl::StatusOr<std::shared_ptr<void>> NextBlocking();
  std::optional<absl::StatusOr<std::shared_ptr<void>>> TryNext();
  absl::StatusOr<int> ReadyFd();
  absl::Status Seek(uint64_t step);
  static Task<> Close(std::shared_ptr<Core> core);
  uint64_t next_step() const {
    MutexLock lock(&mu_);
    return window_.next();
  }
  std::string State() const;
  absl::StatusOr<std::string> State(uint64_t step) const;
  absl::Status Resume(std::string_view state);
  LoaderMetrics metrics() const;
  const DatasetTree& tree() const { return tree_; }

 private:
  class Ticket;
  using Clock = std::chrono::steady_clock;
  using Batches = absl::StatusOr<std::vector<MadeBatch>>;

  // A step that has been started.
  struct Slot {
    bool has_arrived = false;
    absl::StatusOr<MadeBatch> made = MadeBatch();
  };
  // Consecutive steps that are asked for together.
  struct Request {
    uint64_t first_step = 0;
    uint64_t steps = 0;
    uint64_t bytes_each = 0;  // as counted by the window
    uint64_t generation = 0;
    boost::asio::io_context* context = nullptr;  // null: not begun
    bool is_on_executor = false;                 // in a Next()
    bool is_launched = false;                    // used on its context's thread
    bool is_cancelled = false;
    Clock::time_point began = {};
    std::chrono::nanoseconds cpu_before{0};  // of the consumer's thread
    FetchTimes times = {};
    uint64_t last_items = 0;  // of its last batch, which may be short
    bool is_cut = false;      // it took long, so its last steps were not made
    boost::asio::cancellation_signal cancel = {};
  };
  using RequestList = std::list<Request>;

  // Takes the next batch if it is there; false: not yet.
  absl::StatusOr<bool> TakeReady(Ticket* ticket, std::shared_ptr<void>* batch);
  // Whether TakeReady() would find a batch, an error or the end.
  bool IsReady() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // To be called after every change of what IsReady() looks at. Starts
  // requests, too: who watches the descriptor asks for no batch meanwhile.
  void UpdateReadyEvent() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Counts the batch of this step as delivered.
  void CountDelivered(uint64_t step, Ticket* ticket)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Report() {
    reports_.AfterStep([this] { return metrics(); });
  }

  void StartRequests() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Starts as many as there is memory for. If memory runs out, Next() tries
  // again.
  void TryToStartRequests() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Starts one request; false if there is nothing to start.
  bool StartRequest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Asio has lost a request or a wait.
  void Break();
  // Begins the first request in the queue, if there is one, on the thread of
  // `context`.
  void LaunchNext(boost::asio::io_context* context,
                  bool is_on_executor = false);
  bool RequestHere(bool is_on_executor);
  // Makes the batches of the request; fewer than its steps if the run ends.
  Task<std::vector<MadeBatch>> Make(Request* request);
  boost::asio::awaitable<void> Run(RequestList::iterator request);
  void Arrive(RequestList::iterator request, Batches batches);
  void End(RequestList::iterator request);
  static FetchEnd EndOf(const Batches& batches, bool is_wanted);
  void Store(const Request& request, Clock::time_point now, Batches batches)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool AskAgain(const Request& ended, uint64_t made, uint64_t each)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AdaptRequests(Clock::duration took, bool has_failed)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Waits for a request that is made on the consumer's thread.
  void AwaitConsumersRequest();
  void CloseAndCancel();
  void Restart(uint64_t step) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Cancels the requests on `context` that are of earlier generations.
  void CancelBefore(boost::asio::io_context* context, uint64_t generation);
  void TryToNotify();

  // Constant after construction.
  const std::unique_ptr<const ItemBatchMaker> maker_;
  const Schedule schedule_;
  const ItemPrefetchOptions options_;
  const DatasetTree tree_;
  const uint64_t items_each_;  // of a batch, but for the last
  const uint64_t most_steps_;  // of a request
  // Making a batch waits for nothing but functions on threads.
  const bool only_computes_;
  // It copies items from memory, and waits for nothing.
  const bool only_copies_;
  const DatasetTimes dataset_times_;
  const ReaderTotals readers_;

  // Used on any thread, except reports_: only the Next() in progress uses it.
  // Counts waits, and what follows them; batches that were ready are below.
  LoaderCounters counters_;
  LoaderReports reports_;

  PrefetchThread thread_;
  // The event loop of the consumer's own requests.
  boost::asio::io_context consumer_context_{1};
  ShortSpin next_spin_;  // used by the Next() in progress

  // Requests that are left to the loader's thread, begun or not.
  std::atomic<uint64_t> to_do_ = 0;
  // Requests since an event loop last had to wait for one.
  std::atomic<uint64_t> calm_requests_ = 0;
  // The last request took less than kLongRequest / 2.
  std::atomic<bool> is_quick_ = false;
  // The length of the dataset can no longer change.
  std::atomic<bool> is_final_ = false;
  std::atomic<bool> next_awaited_ = false;
  // The consumer still waits for what its last TryNext() did not find. Used by
  // the Next() in progress.
  bool is_left_waiting_ = false;

  // Used on any thread.
  Notifier changed_;
  mutable Mutex mu_;
  PrefetchWindow window_ ABSL_GUARDED_BY(mu_);
  std::deque<Slot> slots_ ABSL_GUARDED_BY(mu_);    // from the next step on
  uint64_t num_arrived_ ABSL_GUARDED_BY(mu_) = 0;  // slots with a result,
  uint64_t num_ready_ ABSL_GUARDED_BY(mu_) = 0;    // and with a batch
  RequestList queued_ ABSL_GUARDED_BY(mu_);        // not begun, by step
  RequestList under_way_ ABSL_GUARDED_BY(mu_);
  RequestList ending_ ABSL_GUARDED_BY(mu_);          // arrived
  uint64_t request_steps_ ABSL_GUARDED_BY(mu_) = 1;  // of the next request
  // Since the beginning or a Seek().
  uint64_t arrived_requests_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t largest_bytes_ ABSL_GUARDED_BY(mu_) = 0;  // of a batch so far
  // The next batch is the first one, or the first after a Seek() or an error.
  bool is_startup_ ABSL_GUARDED_BY(mu_) = true;
  // When the batch that was the next one arrived.
  Clock::time_point next_since_ ABSL_GUARDED_BY(mu_) = {};
  // A batch with another number of items than the rest, which is the last.
  uint64_t short_step_ ABSL_GUARDED_BY(mu_) = UINT64_MAX;
  uint64_t short_items_ ABSL_GUARDED_BY(mu_) = 0;
  // Batches that were ready when they were asked for, since the last other one
  // and in all.
  bool was_ready_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t ready_steps_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t ready_items_ ABSL_GUARDED_BY(mu_) = 0;
  // Null until ReadyFd() is asked for.
  std::unique_ptr<ReadyEvent> ready_event_ ABSL_GUARDED_BY(mu_);
  bool is_closed_ ABSL_GUARDED_BY(mu_) = false;
  bool is_broken_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_ITEMS_ITEM_PREFETCH_H_
