// SPDX-License-Identifier: Apache-2.0
// Counts what a loader does. Looks at no clock: every event says when it was.

#ifndef PONIENTE_LOADER_LOADER_COUNTERS_H_
#define PONIENTE_LOADER_LOADER_COUNTERS_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>

#include "absl/base/thread_annotations.h"
#include "loader/fetch_times.h"
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

// Thread safety: any thread. Allocates nothing but in Read().
class LoaderCounters {
 public:
  using Clock = std::chrono::steady_clock;

  // The sources, in the order of their numbers; copies their paths.
  explicit LoaderCounters(std::span<const TreeLeaf> leaves);

  // Next() begins; it ends with Delivered(), or with GaveUp() when it gives no
  // batch. (After Delivered() that does nothing.)
  void Asked(Clock::time_point now);
  // `ready`: when the batch had been fetched, maybe before Asked(). What the
  // consumer's executor takes to resume it after that is the consumer's time.
  void Delivered(const Batch& batch, Clock::time_point ready);
  void GaveUp(Clock::time_point now);

  // The next batch is a first one again; so many were ready.
  void Restarted(uint64_t ready_batches);
  // One that was ready is wanted no more.
  void Dropped();

  // On the loader's thread.
  void FetchBegan(Clock::time_point now);
  void FetchEnded(Clock::time_point now, FetchEnd end, const FetchTimes& times);

  // All but the queue, the readers' bytes and what the thread computed.
  LoaderMetrics Read(Clock::time_point now) const;

 private:
  // Adds what Next() has waited until `end` and gives it, in seconds.
  double EndWait(Clock::time_point end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CountSamples(const Batch& batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Since the last fetch that began or ended, if one is under way.
  double Fetching(Clock::time_point now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CountFetching(Clock::time_point now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  mutable Mutex mu_;
  LoaderMetrics counted_ ABSL_GUARDED_BY(mu_);
  bool is_startup_ ABSL_GUARDED_BY(mu_) = true;
  // Next() waits since then; else the consumer works since then, if it has
  // begun at all.
  std::optional<Clock::time_point> asked_ ABSL_GUARDED_BY(mu_);
  std::optional<Clock::time_point> working_ ABSL_GUARDED_BY(mu_);
  uint32_t under_way_ ABSL_GUARDED_BY(mu_) = 0;
  Clock::time_point fetching_until_ ABSL_GUARDED_BY(mu_);
};

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_LOADER_COUNTERS_H_
