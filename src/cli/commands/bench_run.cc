// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/bench_run.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>
#include <thread>

#include "cli/screen/progress.h"
#include "poniente/loader.h"
#include "poniente/token_source.h"
#include "util/status_macros.h"

namespace poniente::cli {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

double SecondsSince(Clock::time_point start) {
  return Seconds(Clock::now() - start).count();
}

double CpuSeconds() {
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) +
           1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Of each way of reading, since the stores were opened.
std::vector<BackendBytes> BackendsOf(const Config& config) {
  std::set<const ByteReader*> readers;
  for (const ConfigSource& source : config.sources()) {
    if (source.data != nullptr) readers.insert(&source.data->reader());
  }
  std::vector<BackendBytes> backends = {
      {"buffered"}, {"direct"}, {"mmap"}, {"pread"}};
  for (const ByteReader* const reader : readers) {
    const ReadCounters counters = reader->counters();
    const BackendCounters* const of_backends[] = {
        &counters.buffered, &counters.direct, &counters.mmap, &counters.pread};
    for (size_t i = 0; i < backends.size(); ++i) {
      backends[i].bytes_asked += of_backends[i]->bytes_asked;
      backends[i].bytes_read += of_backends[i]->bytes_read;
      backends[i].reads += of_backends[i]->reads;
    }
  }
  return backends;
}

// Those that were read by between the two.
std::vector<BackendBytes> ReadBetween(const std::vector<BackendBytes>& before,
                                      std::vector<BackendBytes> now) {
  for (size_t i = 0; i < now.size(); ++i) {
    now[i].bytes_asked -= before[i].bytes_asked;
    now[i].bytes_read -= before[i].bytes_read;
    now[i].reads -= before[i].reads;
  }
  std::erase_if(now,
                [](const BackendBytes& backend) { return backend.reads == 0; });
  return now;
}

// How much of the work is done, by what ends it first.
double ShareDone(const BenchOptions& options, uint64_t steps, double seconds) {
  double share = 0;
  if (options.steps) {
    share = static_cast<double>(steps) / static_cast<double>(*options.steps);
  }
  if (options.seconds) share = std::max(share, seconds / *options.seconds);
  return share;
}

// Takes batches until it is enough.
absl::Status TakeBatches(const BenchOptions& options, Loader& loader,
                         Clock::time_point start, BenchRun* run) {
  Progress progress("benchmarking", options.steps.value_or(0), /*quiet=*/false,
                    ProgressUnit::kSteps);
  for (uint64_t steps = 0;; ++steps) {
    const double share = ShareDone(options, steps, SecondsSince(start));
    progress.Update(steps, share);
    if (steps > 0 && share >= 1) return absl::OkStatus();
    const Clock::time_point asked = Clock::now();
    const absl::StatusOr<Batch> batch = loader.NextBlocking();
    const Clock::time_point came = Clock::now();
    if (absl::IsOutOfRange(batch.status()) && steps > 0) {
      run->has_ended = true;
      return absl::OkStatus();
    }
    PONIENTE_RETURN_IF_ERROR(batch.status());
    const double wait = Seconds(came - asked).count();
    if (steps == 0) {
      run->first_batch_seconds = wait;
      run->first_batch_tokens = loader.metrics().tokens;
    } else {
      run->waits.push_back(wait);
    }
    if (options.step_seconds > 0) {
      std::this_thread::sleep_until(came +
                                    std::chrono::duration_cast<Clock::duration>(
                                        Seconds(options.step_seconds)));
    }
  }
}

}  // namespace

double BenchRun::batches_per_second() const {
  const double after_first = metrics.stall_seconds + metrics.consumer_seconds;
  if (metrics.steps > 1 && after_first > 0) {
    return static_cast<double>(metrics.steps - 1) / after_first;
  }
  return first_batch_seconds > 0 ? 1 / first_batch_seconds : 0;
}

double BenchRun::tokens_per_second() const {
  if (metrics.steps == 0) return 0;
  const uint64_t batches = std::max<uint64_t>(metrics.steps - 1, 1);
  const uint64_t tokens =
      metrics.steps > 1 ? metrics.tokens - first_batch_tokens : metrics.tokens;
  return batches_per_second() * static_cast<double>(tokens) /
         static_cast<double>(batches);
}

BackendBytes BenchRun::bytes() const {
  BackendBytes all = {"all"};
  for (const BackendBytes& backend : backends) {
    all.bytes_asked += backend.bytes_asked;
    all.bytes_read += backend.bytes_read;
    all.reads += backend.reads;
  }
  return all;
}

double BenchRun::read_amplification() const {
  const BackendBytes all = bytes();
  if (all.bytes_asked == 0) return 0;
  return static_cast<double>(all.bytes_read) /
         static_cast<double>(all.bytes_asked);
}

absl::StatusOr<BenchRun> RunLoader(const Config& config,
                                   const BenchOptions& options) {
  BenchRun run;
  std::mutex mutex;  // of run.warnings
  LoaderOptions loader_options = config.loader_options();
  loader_options.start_step = options.first_step;
  loader_options.rank = options.rank.rank;
  loader_options.ranks = options.rank.ranks;
  loader_options.report_every_steps = 0;
  loader_options.log_sink = [](std::string_view) {};  // of sources' epochs
  loader_options.warning_sink = [&run, &mutex](std::string_view warning) {
    const std::lock_guard lock(mutex);
    run.warnings.emplace_back(warning);
  };
  const std::vector<BackendBytes> read_before = BackendsOf(config);
  const double cpu_before = CpuSeconds();
  const Clock::time_point start = Clock::now();
  PONIENTE_ASSIGN_OR_RETURN(const std::unique_ptr<Loader> loader,
                            config.OpenLoader(loader_options));
  PONIENTE_RETURN_IF_ERROR(TakeBatches(options, *loader, start, &run));
  run.seconds = SecondsSince(start);
  run.prefetch_batches = loader->prefetch_batches();
  run.metrics = loader->metrics();
  run.cpu_seconds = CpuSeconds() - cpu_before;
  run.backends = ReadBetween(read_before, BackendsOf(config));
  PONIENTE_RETURN_IF_ERROR(loader->CloseBlocking());
  std::sort(run.waits.begin(), run.waits.end());
  return run;
}

}  // namespace poniente::cli
