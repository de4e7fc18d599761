// SPDX-License-Identifier: Apache-2.0
// What a loader has done: as a struct, as a line for a log, as text for
// Prometheus. docs/metrics.md defines each number.

#ifndef PONIENTE_METRICS_H_
#define PONIENTE_METRICS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace poniente {

// What this rank has received from one leaf.
struct SourceMetrics {
  std::string path =
      {};  // LoaderSource::path; the views of a component share one
  uint64_t samples = 0;
  uint64_t tokens = 0;
  // The latest epoch of its samples since the loader began or was moved by
  // Seek() or Resume() (now). 0: its first pass, or no sample yet.
  uint64_t epoch = 0;
  // How often the source has begun again: by how much its epoch has risen
  // between samples. Moving the loader counts nothing.
  uint64_t restarts = 0;
};

// How long this rank's loader has waited for a dataset that is not read from
// files: a leaf in memory or of your own, or the function of a Map(). Counts
// the time with at least one call in progress.
struct DatasetTime {
  std::string path = {};  // names from the root, as in LoaderSource::path
  std::string name = {};  // the dataset's own
  double seconds = 0;
};

// A snapshot of one loader on one rank since its creation. All times are in
// seconds. Numbers never fall, except those marked "now".
struct LoaderMetrics {
  // Step that the next Next() returns (now).
  uint64_t next_step = 0;

  // Steps, samples and tokens handed out by Next(). `sources` is in the order
  // of Loader::sources().
  uint64_t steps = 0;
  uint64_t samples = 0;
  uint64_t tokens = 0;
  std::vector<SourceMetrics> sources = {};

  // The time from the first Next() to the last one that has ended is the sum of
  // startup_seconds, stall_seconds and consumer_seconds. Startups are waits for
  // the first batch of the run, after a Seek(), or after an error: their time
  // and number.
  double startup_seconds = 0;
  uint64_t startups = 0;
  // Waits for all other batches, from Next() until the batch was ready: their
  // time, and the number of batches that were not ready at once.
  double stall_seconds = 0;
  uint64_t stalls = 0;
  // Time during which the consumer has a batch: from the moment when Next() can
  // return it until the following call of Next().
  double consumer_seconds = 0;

  // The wait for the last batch (now; 0: it was ready), the longest such wait,
  // and how long a Next() still in progress has waited (now). The first two
  // ignore startups.
  double last_stall_seconds = 0;
  double longest_stall_seconds = 0;
  double waiting_seconds = 0;

  // Batches that wait for Next(), and batches being fetched (now).
  uint64_t batches_ready = 0;
  uint64_t batches_under_way = 0;

  // The number of batches that were made; the number of these that were dropped
  // because of a Seek(), a Close() or an error in an earlier batch; and the
  // number of fetches that failed.
  uint64_t batches_fetched = 0;
  uint64_t batches_dropped = 0;
  uint64_t fetch_errors = 0;
  // Where the time of these fetches went: waiting for a growing dataset,
  // computing index maps, reading, and decoding ids (widening and checking; if
  // functions make items, all of their work including its reads). Fetches
  // overlap and wait for their turn on the loader's thread, so these are
  // elapsed times, not costs.
  double length_seconds = 0;
  double resolve_seconds = 0;
  double read_seconds = 0;
  double decode_seconds = 0;
  // Time during which a fetch was in progress.
  double fetching_seconds = 0;
  // CPU time of the loader's thread, plus the time in which NextBlocking(), or
  // the loader's second thread for a Next(), made batches from memory. Without
  // the threads that make tensors of large batches, and the one that makes half
  // of the reads of cold files.
  double cpu_seconds = 0;
  // How much of it the loader's thread was in the kernel, where reads through
  // the page cache take most of their time. In steps of 10 ms (0 if Linux does
  // not report it).
  double kernel_seconds = 0;
  // Time for which the loader's thread was ready to run but all cores were busy
  // (0 if Linux does not report it).
  double cpu_wait_seconds = 0;

  // The datasets that are not read from files, and how long each took, in the
  // order of the tree; empty if all are read from files. Includes the time of
  // other loaders over the same datasets.
  std::vector<DatasetTime> datasets = {};

  // Bytes asked for and read by the readers of all leaves since the loader was
  // created. Includes the work of other loaders that share a reader with this
  // one.
  uint64_t bytes_asked = 0;
  uint64_t bytes_read = 0;

  // Returns the sum of startup, stall and consumer time.
  double seconds() const {
    return startup_seconds + stall_seconds + consumer_seconds;
  }
  // Returns stall_seconds / (stall_seconds + consumer_seconds); 0 if both are
  // 0.
  double stall_share() const;
  // Returns the bytes read per byte asked for; 0 if none was asked for.
  double read_amplification() const;
};

// Returns what happened between two snapshots of one loader: numbers that only
// grow are subtracted, the others are those of `now`.
LoaderMetrics MetricsSince(const LoaderMetrics& before, LoaderMetrics now);

// What limits the speed of a run.
enum class Bottleneck {
  kNone,      // no step yet
  kConsumer,  // Next() waited for less than a tenth of the time
  // The others: Next() waited for a tenth of the time or more, because
  kDecode,   // the loader computed (cpu_seconds), or waited for a core, during
             // at least half of fetching_seconds, or decode_seconds are more
             // than those of lengths, index maps and reading
  kKernel,   // the same, but half of it or more was kernel_seconds
  kWriter,   // a growing dataset had not grown
  kDataset,  // the times in `datasets` add up to at least half of
             // fetching_seconds
  kDisk,     // reads had not come
};

// Returns "none", "consumer", "decode", "kernel", "writer", "dataset" or
// "disk".
std::string_view BottleneckName(Bottleneck bottleneck);
// Returns what limited the speed in an interval (see MetricsSince()).
Bottleneck FindBottleneck(const LoaderMetrics& interval);

// Returns one line, without a line end, about an interval or about the time
// since the beginning: rate, stalls, queue, fetches, bytes, bottleneck, and the
// eight sources with the most tokens.
std::string MetricsLine(const LoaderMetrics& interval);

// Names and values of labels. Characters that a label name may not contain
// become '_'. The names source, dataset, state and part are reserved.
using MetricLabels = std::vector<std::pair<std::string, std::string>>;

// Returns the metrics in Prometheus' text format 0.0.4 (Content-Type:
// text/plain; version=0.0.4). Each series has `labels`; add {{"rank", "3"}} if
// the ranks are scraped into one place.
std::string PrometheusText(const LoaderMetrics& metrics,
                           const MetricLabels& labels = {});

// The metrics of one loader, and labels that no other loader has. Use it if a
// process has several loaders: the format allows each family only once, so
// the texts of single loaders cannot be concatenated.
struct LabelledMetrics {
  LoaderMetrics metrics = {};
  MetricLabels labels = {};
};
// Returns the metrics of several loaders as one text.
std::string PrometheusText(std::span<const LabelledMetrics> loaders);

}  // namespace poniente

#endif  // PONIENTE_METRICS_H_
