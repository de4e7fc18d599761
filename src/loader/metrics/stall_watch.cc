// SPDX-License-Identifier: Apache-2.0
#include "loader/metrics/stall_watch.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "loader/metrics/dataset_times.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

std::string_view Remedy(Bottleneck behind) {
  switch (behind) {
    case Bottleneck::kDecode:
      return "leave the loader a core if it waits for one, store ids as wide "
             "as token_type so that they are read into "
             "place, set verify_checksums to \"off\" for stores that are "
             "verified otherwise, and make lighter what functions do on the "
             "way";
    case Bottleneck::kKernel:
      return "reads through the page cache take the kernel longer than the "
             "disk: set io to \"direct\" if the stores are read only once or "
             "do not fit into memory, and leave the loader two cores";
    case Bottleneck::kWriter:
      return "the data is consumed faster than it is written: write faster, or "
             "start the run later";
    case Bottleneck::kDataset:
      return "make it faster, or raise prefetch_batches if it waits without "
             "blocking the loader's thread";
    case Bottleneck::kDisk:
      return "raise prefetch_batches if waits are rare and long; else move the "
             "stores to a faster disk, keep them in the page cache, or shuffle "
             "by blocks";
    case Bottleneck::kNone:
    case Bottleneck::kConsumer:
      break;
  }
  return "";
}

std::string Warning(const LoaderMetrics& window, Bottleneck behind) {
  const double per_batch =
      1e3 / static_cast<double>(std::max<uint64_t>(window.batches_fetched, 1));
  const double percent =
      window.fetching_seconds > 0 ? 100 / window.fetching_seconds : 0;
  return absl::StrCat(
      Absl(BottleneckName(behind)), " is behind: ",
      absl::StrFormat(
          "up to step %d Next() waited %.1f s of %.1f s for %d of %d batches; "
          "of the time it had to fetch, the loader computed %.0f %% "
          "(%.0f %% in the kernel) and waited for a core %.0f %%; a batch took "
          "%.1f ms of index maps, %.1f ms of reading, %.1f ms of ids and "
          "functions; ",
          window.next_step, window.stall_seconds,
          window.stall_seconds + window.consumer_seconds, window.stalls,
          window.steps, percent * window.cpu_seconds,
          percent * window.kernel_seconds, percent * window.cpu_wait_seconds,
          per_batch * window.resolve_seconds, per_batch * window.read_seconds,
          per_batch * window.decode_seconds),
      behind == Bottleneck::kDataset
          ? absl::StrCat(SlowestDatasetText(window), ": ")
          : "",
      Absl(Remedy(behind)));
}

}  // namespace

std::optional<std::string> StallWatch::Look(const LoaderMetrics& now) {
  const LoaderMetrics window = MetricsSince(before_, now);
  before_ = now;
  const Bottleneck behind = FindBottleneck(window);
  if (Remedy(behind).empty() || window.stall_seconds <= kStallSeconds) {
    return std::nullopt;
  }
  if (behind == last_ && now.seconds() < quiet_until_) return std::nullopt;
  last_ = behind;
  quiet_until_ = now.seconds() + kQuietSeconds;
  return Warning(window, behind);
}

}  // namespace poniente::internal
