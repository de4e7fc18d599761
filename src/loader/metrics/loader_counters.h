// SPDX-License-Identifier: Apache-2.0
// Counts what a loader does. It does not read a clock: the caller of each event
// passes its time.

#ifndef PONIENTE_LOADER_METRICS_LOADER_COUNTERS_H_
#define PONIENTE_LOADER_METRICS_LOADER_COUNTERS_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "loader/metrics/fetch_times.h"
#include "loader/metrics/source_epochs.h"
#include "poniente/batch.h"
#include "poniente/dataset_tree.h"
#include "poniente/metrics.h"
#include "util/mutex.h"

namespace poniente::internal {

enum class FetchEnd {
  kReady,
  kDropped,  // made, but no longer wanted
  kFailed,
  kNothing,  // cancelled, or there is no such step
};

// Whether the time since the last batch was delivered already counts as the
// consumer's. If not, it does once Asked() is called.
enum class OpenWork { kCountsLater, kCounts };

// Thread safety: any number of threads. Only Read() and TakeEpochNews()
// allocate memory.
class LoaderCounters {
 public:
  using Clock = std::chrono::steady_clock;

  // `leaves` are the sources, in the order of their numbers; their paths are
  // copied.
  explicit LoaderCounters(std::span<const TreeLeaf> leaves);

  // Call Asked() when Next() begins, Delivered() when it returns a batch, and
  // GaveUp() when it returns none. GaveUp() after Delivered() does nothing.
  // Asked() again before either (a TryNext() that finds no batch calls none)
  // does nothing: the wait began with the first.
  void Asked(Clock::time_point now);
  // `ready`: the time at which the batch was fetched, which may be before
  // Asked(). The time that the consumer's executor then takes to resume the
  // consumer counts as the consumer's time.
  void Delivered(const Batch& batch, Clock::time_point ready);
  // Call it when the next batch is that of `step`, unless it is that of the
  // step before. Epochs of the sources are followed from there.
  void MovedTo(uint64_t step);
  // Tells of leaves that come behind those that are known.
  void AddSources(std::span<const TreeLeaf> leaves);
  // Returns which sources have begun again since the last call. HasEpochNews()
  // is cheaper, and false after most batches.
  bool HasEpochNews() const;
  std::vector<EpochNews> TakeEpochNews();
  // Does the same for a batch of items, each of which counts as a token.
  void Delivered(uint64_t items, Clock::time_point ready);
  void GaveUp(Clock::time_point now);

  // Call it when the loader restarts. The next batch counts as a first one
  // again, and `ready_batches` that were ready are dropped.
  void Restarted(uint64_t ready_batches);
  // Counts batches that were ready but are no longer wanted.
  void Dropped(uint64_t batches);

  // Call these two when a batch begins to be made and when that ends.
  // `batches`: the number that were made together.
  void FetchBegan(Clock::time_point now);
  void FetchEnded(Clock::time_point now, FetchEnd end, const FetchTimes& times,
                  uint64_t batches = 1);

  // Counts the time of a batch that another thread than the loader's made
  // without waiting, such as the consumer's.
  void ComputedElsewhere(std::chrono::nanoseconds time);

  // Returns all metrics except the queue, the bytes of the readers and the
  // computing time of the loader's thread.
  LoaderMetrics Read(Clock::time_point now,
                     OpenWork work = OpenWork::kCountsLater) const;

 private:
  // Adds the time that Next() has waited until `end`, and returns it in
  // seconds.
  double EndWait(Clock::time_point end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Ends the wait for a batch, and counts the batch.
  void CountDelivered(Clock::time_point ready)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CountSamples(const Batch& batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Returns the seconds since a fetch last began or ended; 0 if none is in
  // flight.
  double Fetching(Clock::time_point now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CountFetching(Clock::time_point now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  mutable Mutex mu_;
  LoaderMetrics counted_ ABSL_GUARDED_BY(mu_);
  SourceEpochs epochs_ ABSL_GUARDED_BY(mu_);
  bool is_startup_ ABSL_GUARDED_BY(mu_) = true;
  // The time since which Next() has been waiting; or else the time since which
  // the consumer has been working, if it has begun at all.
  std::optional<Clock::time_point> asked_ ABSL_GUARDED_BY(mu_);
  std::optional<Clock::time_point> working_ ABSL_GUARDED_BY(mu_);
  uint32_t under_way_ ABSL_GUARDED_BY(mu_) = 0;
  Clock::time_point fetching_until_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<const DatasetTimes> datasets_ ABSL_GUARDED_BY(mu_);
};

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_METRICS_LOADER_COUNTERS_H_
