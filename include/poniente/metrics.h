// SPDX-License-Identifier: Apache-2.0
// What a loader has done: as a struct, as a line for a log, as text for
// Prometheus. docs/metrics.md tells what each number means.

#ifndef PONIENTE_METRICS_H_
#define PONIENTE_METRICS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace poniente {

// What one leaf has given to this rank.
struct SourceMetrics {
  std::string path;  // Source::path; the views of a component share one
  uint64_t samples = 0;
  uint64_t tokens = 0;
};

// A snapshot of one loader, on one rank, since it was made. All times are in
// seconds. Numbers only grow but for those called "now".
struct LoaderMetrics {
  // What the next Next() gives, now.
  uint64_t next_step = 0;

  // Handed out by Next(). `sources` is in the order of Loader::sources().
  uint64_t steps = 0;
  uint64_t samples = 0;
  uint64_t tokens = 0;
  std::vector<SourceMetrics> sources;

  // Every second from the first Next() to the last one that has ended is one of
  // these three. Waits for the first batch of a run, of a Seek(), or after an
  // error; their number.
  double startup_seconds = 0;
  uint64_t startups = 0;
  // Waits for all other batches, from Next() until the batch was ready; the
  // number of batches that were not ready at once.
  double stall_seconds = 0;
  uint64_t stalls = 0;
  // From a batch that is ready and wanted to the Next() after it.
  double consumer_seconds = 0;

  // The wait for the last batch (0: it was ready), the longest such wait, and
  // how long a Next() that still waits has done so now. No startups but in the
  // last of them.
  double last_stall_seconds = 0;
  double longest_stall_seconds = 0;
  double waiting_seconds = 0;

  // Batches that wait for Next(), and those being fetched, now.
  uint64_t batches_ready = 0;
  uint64_t batches_under_way = 0;

  // Batches made, and how many of them nobody took, since there was a Seek(), a
  // Close() or an error before them; fetches that failed.
  uint64_t batches_fetched = 0;
  uint64_t batches_dropped = 0;
  uint64_t fetch_errors = 0;
  // Where the time of the batches fetched went: waiting for a growing dataset,
  // index maps, reading, and ids (widening, checking; where functions make
  // items on the way, all of it, reads included). Fetches overlap, and wait for
  // their turn on the loader's thread, so these are times, not costs.
  double length_seconds = 0;
  double resolve_seconds = 0;
  double read_seconds = 0;
  double decode_seconds = 0;
  // Time with a fetch under way; CPU time of the loader's thread, and time that
  // it was ready to run but all cores were busy (0 where Linux does not tell).
  double fetching_seconds = 0;
  double cpu_seconds = 0;
  double cpu_wait_seconds = 0;

  // By the readers of all leaves since the loader was made: others who share a
  // reader with this loader are counted as well.
  uint64_t bytes_asked = 0;
  uint64_t bytes_read = 0;

  // Of all three kinds.
  double seconds() const {
    return startup_seconds + stall_seconds + consumer_seconds;
  }
  // Of the time after startups; 0 if there was none.
  double stall_share() const;
  // Bytes read per byte asked for; 0 if none was.
  double read_amplification() const;
};

// What happened between two snapshots of one loader: what grows is subtracted,
// the rest is as in `now`.
LoaderMetrics MetricsSince(const LoaderMetrics& before, LoaderMetrics now);

// What keeps a run from being faster.
enum class Bottleneck {
  kNone,      // no step yet
  kConsumer,  // Next() waited for less than a tenth of the time
  // It waited for more than that, as
  kDecode,  // the loader's thread computed, or waited for a core, half of the
            // time or more
  kWriter,  // a growing dataset had not grown
  kDisk,    // reads, or a dataset that itself waits, had not come
};

// "none", "consumer", "decode", "writer", "disk".
std::string_view BottleneckName(Bottleneck bottleneck);
Bottleneck FindBottleneck(const LoaderMetrics& interval);

// One line, without its end, of what happened in an interval (or since the
// beginning): rate, stalls, queue, fetches, bytes, bottleneck, and the eight
// sources with the most tokens.
std::string MetricsLine(const LoaderMetrics& interval);

// Names and values. Characters that a label's name may not have become '_'; the
// names source, state and part are taken.
using MetricLabels = std::vector<std::pair<std::string, std::string>>;

// Prometheus' text format 0.0.4 (Content-Type: text/plain; version=0.0.4). Each
// series has `labels`: say {{"rank", "3"}} where ranks end up in one place.
std::string PrometheusText(const LoaderMetrics& metrics,
                           const MetricLabels& labels = {});

// The same for several loaders of one process, whose labels must differ: a
// format in which each family may appear once cannot be concatenated.
struct LabelledMetrics {
  LoaderMetrics metrics;
  MetricLabels labels;
};
std::string PrometheusText(std::span<const LabelledMetrics> loaders);

}  // namespace poniente

#endif  // PONIENTE_METRICS_H_
