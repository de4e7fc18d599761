// SPDX-License-Identifier: Apache-2.0
#include "poniente/metrics.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "loader/metrics/dataset_times.h"
#include "util/one_line.h"
#include "util/status_macros.h"

namespace poniente {
namespace {

using internal::Absl;

constexpr double kStalledShare = 0.1;
constexpr size_t kMaxSourcesInLine = 8;

double Ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

// Returns the tokens of each path, in descending order.
std::vector<std::pair<std::string, uint64_t>> ByTokens(
    const LoaderMetrics& interval) {
  std::map<std::string, uint64_t> tokens;
  for (const SourceMetrics& source : interval.sources) {
    if (source.tokens > 0) tokens[source.path] += source.tokens;
  }
  std::vector<std::pair<std::string, uint64_t>> sorted(tokens.begin(),
                                                       tokens.end());
  std::stable_sort(
      sorted.begin(), sorted.end(),
      [](const auto& a, const auto& b) { return a.second > b.second; });
  return sorted;
}

std::string SourcesText(const LoaderMetrics& interval) {
  const auto sources = ByTokens(interval);
  std::string text;
  const size_t shown = std::min(sources.size(), kMaxSourcesInLine);
  for (size_t i = 0; i < shown; ++i) {
    const double share = Ratio(static_cast<double>(sources[i].second),
                               static_cast<double>(interval.tokens));
    absl::StrAppend(&text, i == 0 ? "; tokens from " : ", ",
                    internal::OneLine(sources[i].first),
                    absl::StrFormat(" %.1f %%", 100 * share));
  }
  if (shown < sources.size()) {
    absl::StrAppend(&text, " and ", sources.size() - shown, " more");
  }
  return text;
}

std::string FetchText(const LoaderMetrics& interval) {
  if (interval.batches_fetched == 0) return "";
  const double ms = 1e3 / static_cast<double>(interval.batches_fetched);
  return absl::StrFormat("; a fetch %.1f ms index, %.1f ms read, %.1f ms ids",
                         ms * interval.resolve_seconds,
                         ms * interval.read_seconds,
                         ms * interval.decode_seconds);
}

std::string BytesText(const LoaderMetrics& interval) {
  if (interval.bytes_asked == 0) return "";
  return absl::StrFormat("; read %.1f MB for %.1f MB (x %.2f)",
                         1e-6 * static_cast<double>(interval.bytes_read),
                         1e-6 * static_cast<double>(interval.bytes_asked),
                         interval.read_amplification());
}

}  // namespace

double LoaderMetrics::stall_share() const {
  return Ratio(stall_seconds, stall_seconds + consumer_seconds);
}

double LoaderMetrics::read_amplification() const {
  return Ratio(static_cast<double>(bytes_read),
               static_cast<double>(bytes_asked));
}

LoaderMetrics MetricsSince(const LoaderMetrics& before, LoaderMetrics now) {
  for (const auto count :
       {&LoaderMetrics::steps, &LoaderMetrics::samples, &LoaderMetrics::tokens,
        &LoaderMetrics::startups, &LoaderMetrics::stalls,
        &LoaderMetrics::batches_fetched, &LoaderMetrics::batches_dropped,
        &LoaderMetrics::fetch_errors, &LoaderMetrics::bytes_asked,
        &LoaderMetrics::bytes_read}) {
    now.*count -= before.*count;
  }
  for (const auto time :
       {&LoaderMetrics::startup_seconds, &LoaderMetrics::stall_seconds,
        &LoaderMetrics::consumer_seconds, &LoaderMetrics::length_seconds,
        &LoaderMetrics::resolve_seconds, &LoaderMetrics::read_seconds,
        &LoaderMetrics::decode_seconds, &LoaderMetrics::fetching_seconds,
        &LoaderMetrics::cpu_seconds, &LoaderMetrics::kernel_seconds,
        &LoaderMetrics::cpu_wait_seconds}) {
    now.*time -= before.*time;
  }
  // `before` may have no sources and datasets: a default LoaderMetrics stands
  // for the beginning of the run.
  const size_t sources = std::min(before.sources.size(), now.sources.size());
  for (size_t i = 0; i < sources; ++i) {
    now.sources[i].samples -= before.sources[i].samples;
    now.sources[i].tokens -= before.sources[i].tokens;
    now.sources[i].restarts -= before.sources[i].restarts;
  }
  const size_t datasets = std::min(before.datasets.size(), now.datasets.size());
  for (size_t i = 0; i < datasets; ++i) {
    now.datasets[i].seconds -= before.datasets[i].seconds;
  }
  return now;
}

std::string_view BottleneckName(Bottleneck bottleneck) {
  switch (bottleneck) {
    case Bottleneck::kNone:
      return "none";
    case Bottleneck::kConsumer:
      return "consumer";
    case Bottleneck::kDecode:
      return "decode";
    case Bottleneck::kKernel:
      return "kernel";
    case Bottleneck::kWriter:
      return "writer";
    case Bottleneck::kDataset:
      return "dataset";
    case Bottleneck::kDisk:
      return "disk";
  }
  return "unknown";
}

Bottleneck FindBottleneck(const LoaderMetrics& interval) {
  if (interval.steps == 0) return Bottleneck::kNone;
  if (interval.stall_share() < kStalledShare) return Bottleneck::kConsumer;
  const double at_work = interval.cpu_seconds + interval.cpu_wait_seconds;
  if (at_work >= interval.fetching_seconds / 2) {
    return interval.kernel_seconds >= at_work / 2 && at_work > 0
               ? Bottleneck::kKernel
               : Bottleneck::kDecode;
  }
  const double before = interval.resolve_seconds + interval.read_seconds;
  if (interval.length_seconds > before + interval.decode_seconds) {
    return Bottleneck::kWriter;
  }
  const double in_datasets = internal::DatasetSeconds(interval);
  if (in_datasets > 0 && in_datasets >= interval.fetching_seconds / 2) {
    return Bottleneck::kDataset;
  }
  // Functions may wait without computing.
  return interval.decode_seconds > before + interval.length_seconds
             ? Bottleneck::kDecode
             : Bottleneck::kDisk;
}

std::string MetricsLine(const LoaderMetrics& interval) {
  const double seconds = interval.seconds();
  std::string line = absl::StrFormat(
      "step %d: %d steps, %d samples, %d tokens in %.2f s (%.0f tokens/s); "
      "stalls %.2f s (%.1f %%, %d of %d steps)",
      interval.next_step, interval.steps, interval.samples, interval.tokens,
      seconds, Ratio(static_cast<double>(interval.tokens), seconds),
      interval.stall_seconds, 100 * interval.stall_share(), interval.stalls,
      interval.steps);
  if (interval.startups > 0) {
    absl::StrAppendFormat(&line, ", startups %.2f s (%d)",
                          interval.startup_seconds, interval.startups);
  }
  absl::StrAppend(&line, "; queue ", interval.batches_ready, " ready, ",
                  interval.batches_under_way, " under way", FetchText(interval),
                  BytesText(interval));
  if (const Bottleneck by = FindBottleneck(interval); by != Bottleneck::kNone) {
    absl::StrAppend(&line, "; ", Absl(BottleneckName(by)), "-bound");
    if (by == Bottleneck::kDataset) {
      const std::string slowest = internal::SlowestDatasetText(interval);
      absl::StrAppend(&line, " (", internal::OneLine(slowest), ")");
    }
  }
  absl::StrAppend(&line, SourcesText(interval));
  return line;
}

}  // namespace poniente
