// SPDX-License-Identifier: Apache-2.0
// poniente bench: how fast the configured loader is on this machine.

#include <cmath>
#include <iostream>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/arguments.h"
#include "cli/command_line.h"
#include "cli/commands/bench_run.h"
#include "cli/commands/commands.h"
#include "cli/commands/load_config.h"
#include "cli/screen/console.h"
#include "cli/screen/json.h"
#include "cli/screen/table.h"
#include "index/max_samples.h"
#include "util/status_macros.h"

namespace poniente::cli {
namespace {

constexpr double kDefaultSeconds = 10;

absl::StatusOr<BenchOptions> ReadOptions(const Arguments& arguments) {
  constexpr double kMaxSeconds = 1e6;
  BenchOptions options;
  if (arguments.positionals().size() != 1) {
    return absl::InvalidArgumentError(
        "bench: give one CONFIG; see `poniente bench --help`");
  }
  if (arguments.Has("steps")) {
    PONIENTE_ASSIGN_OR_RETURN(
        options.steps, arguments.Number("steps", 1, 1, internal::kMaxSamples));
  }
  PONIENTE_ASSIGN_OR_RETURN(
      options.first_step,
      arguments.Number("from-step", 0, 0, internal::kMaxSamples));
  if (arguments.Has("seconds") || !options.steps) {
    PONIENTE_ASSIGN_OR_RETURN(
        options.seconds,
        arguments.Decimal("seconds", kDefaultSeconds, 0.001, kMaxSeconds));
  }
  PONIENTE_ASSIGN_OR_RETURN(
      const double milliseconds,
      arguments.Decimal("step-time", 0, 0, 1000 * kMaxSeconds));
  options.step_seconds = milliseconds / 1000;
  PONIENTE_ASSIGN_OR_RETURN(options.rank, arguments.RankOf("rank"));
  return options;
}

double PerBatch(double amount, const LoaderMetrics& metrics) {
  return metrics.batches_fetched == 0
             ? 0
             : amount / static_cast<double>(metrics.batches_fetched);
}

double StallPerStep(const LoaderMetrics& metrics) {
  return metrics.steps < 2
             ? 0
             : metrics.stall_seconds / static_cast<double>(metrics.steps - 1);
}

// The wait that such a share of the waits does not exceed.
double Quantile(const std::vector<double>& waits, double share) {
  if (waits.empty()) return 0;
  const double last = static_cast<double>(waits.size() - 1);
  return waits[static_cast<size_t>(std::llround(share * last))];
}

Json BenchToJson(const BenchRun& run, const BenchOptions& options) {
  const LoaderMetrics& metrics = run.metrics;
  Json json;
  json["rank"] = options.rank.rank;
  json["ranks"] = options.rank.ranks;
  json["first_step"] = options.first_step;
  json["steps"] = metrics.steps;
  json["samples"] = metrics.samples;
  json["tokens"] = metrics.tokens;
  json["has_ended"] = run.has_ended;
  json["seconds"] = run.seconds;
  json["first_batch_seconds"] = run.first_batch_seconds;
  json["tokens_per_second"] = run.tokens_per_second();
  json["batches_per_second"] = run.batches_per_second();
  json["step_time_seconds"] = options.step_seconds;
  json["stalls"] = metrics.stalls;
  json["stall_seconds"] = metrics.stall_seconds;
  json["stall_seconds_per_step"] = StallPerStep(metrics);
  json["stall_share"] = metrics.stall_share();
  json["wait_seconds"] = {{"median", Quantile(run.waits, 0.5)},
                          {"p99", Quantile(run.waits, 0.99)},
                          {"longest", Quantile(run.waits, 1)}};
  json["bottleneck"] = std::string(BottleneckName(FindBottleneck(metrics)));
  json["fetch_seconds_per_batch"] = {
      {"length", PerBatch(metrics.length_seconds, metrics)},
      {"resolve", PerBatch(metrics.resolve_seconds, metrics)},
      {"read", PerBatch(metrics.read_seconds, metrics)},
      {"decode", PerBatch(metrics.decode_seconds, metrics)}};
  json["loader_cpu_seconds_per_batch"] = PerBatch(metrics.cpu_seconds, metrics);
  json["process_cpu_seconds_per_batch"] = PerBatch(run.cpu_seconds, metrics);
  const BackendBytes bytes = run.bytes();
  json["bytes_asked"] = bytes.bytes_asked;
  json["bytes_read"] = bytes.bytes_read;
  json["read_amplification"] = run.read_amplification();
  json["backends"] = Json::array();
  for (const BackendBytes& backend : run.backends) {
    json["backends"].push_back({{"backend", backend.name},
                                {"reads", backend.reads},
                                {"bytes_asked", backend.bytes_asked},
                                {"bytes_read", backend.bytes_read}});
  }
  json["sources"] = Json::array();
  for (const SourceMetrics& source : metrics.sources) {
    json["sources"].push_back({{"path", source.path},
                               {"samples", source.samples},
                               {"tokens", source.tokens}});
  }
  json["prefetch_batches"] = run.prefetch_batches;
  json["warnings"] = run.warnings;
  return json;
}

// "1.2 s", "3.4 ms", "56.7 us"
std::string Time(double seconds) {
  if (seconds >= 1) return absl::StrFormat("%.2f s", seconds);
  if (seconds >= 1e-3) return absl::StrFormat("%.2f ms", 1e3 * seconds);
  return absl::StrFormat("%.1f us", 1e6 * seconds);
}

void Line(const char* key, const std::string& value) {
  std::cout << absl::StrFormat("  %-18s", key) << value << '\n';
}

void PrintStalls(const BenchRun& run, const BenchOptions& options) {
  const LoaderMetrics& metrics = run.metrics;
  Line("waits", absl::StrCat("median ", Time(Quantile(run.waits, 0.5)),
                             ", 99% within ", Time(Quantile(run.waits, 0.99)),
                             ", longest ", Time(Quantile(run.waits, 1))));
  std::string stalls = absl::StrCat(
      Time(StallPerStep(metrics)), " per step; ", Count(metrics.stalls), " of ",
      Count(metrics.steps > 0 ? metrics.steps - 1 : 0), " batches were late");
  if (options.step_seconds > 0) {
    absl::StrAppend(
        &stalls, absl::StrFormat(
                     "; stalled for %.1f%% of the time, with steps of %s",
                     100 * metrics.stall_share(), Time(options.step_seconds)));
  }
  Line("stalls", stalls);
}

void PrintBench(const BenchRun& run, const BenchOptions& options,
                const std::string& path) {
  const LoaderMetrics& metrics = run.metrics;
  std::cout << OneLine(path) << ": " << Plural(metrics.steps, "step")
            << " from step " << Count(options.first_step);
  if (options.rank.ranks > 1) {
    std::cout << ", rank " << options.rank.rank << " of " << options.rank.ranks;
  }
  std::cout << ", " << Count(metrics.tokens) << " tokens in "
            << Time(run.seconds) << (run.has_ended ? ", to the end" : "")
            << "\n\n";
  Line("rate",
       absl::StrCat(
           Count(static_cast<uint64_t>(run.tokens_per_second())), " tokens/s, ",
           absl::StrFormat("%.1f batches/s", run.batches_per_second())));
  Line("first batch", "after " + Time(run.first_batch_seconds));
  if (!run.waits.empty()) {
    PrintStalls(run, options);
    Line("bound by", std::string(BottleneckName(FindBottleneck(metrics))));
  }
  Line(
      "a fetch",
      absl::StrCat(Time(PerBatch(metrics.resolve_seconds, metrics)), " index, ",
                   Time(PerBatch(metrics.read_seconds, metrics)), " read, ",
                   Time(PerBatch(metrics.decode_seconds, metrics)), " ids"));
  Line("CPU per batch",
       absl::StrCat(Time(PerBatch(metrics.cpu_seconds, metrics)),
                    " to make it, ", Time(PerBatch(run.cpu_seconds, metrics)),
                    " of the process"));
  const BackendBytes bytes = run.bytes();
  Line("bytes",
       absl::StrCat(Bytes(static_cast<double>(bytes.bytes_asked)), " asked, ",
                    Bytes(static_cast<double>(bytes.bytes_read)), " read",
                    absl::StrFormat(" (x %.2f)", run.read_amplification())));
  std::vector<std::vector<std::string>> rows = {
      {"read by", "reads", "asked", "read"}};
  for (const BackendBytes& backend : run.backends) {
    rows.push_back({backend.name, Count(backend.reads),
                    Bytes(static_cast<double>(backend.bytes_asked)),
                    Bytes(static_cast<double>(backend.bytes_read))});
  }
  if (rows.size() > 1) {
    std::cout << '\n';
    PrintTable(rows);
  }
}

}  // namespace

CommandSpec BenchSpec() {
  return {
      .name = "bench",
      .brief = "measure how fast this machine feeds a configured run",
      .positionals = "CONFIG",
      .summary =
          "Runs the loader of the TOML file CONFIG for a simulated trainer, "
          "which takes no\ntime or holds each batch for --step-time. Prints "
          "how fast batches come, how long\nthe trainer waits and what for, "
          "and how many bytes are read. What the page cache\nholds is read "
          "from there, so a second run may be faster than the first.",
      .options =
          {{"steps", "N",
            "stop after N batches (default: limited by --seconds only)"},
           {"seconds", "T",
            "stop after T seconds (default: 10, or no limit with --steps)"},
           {"from-step", "S", "begin with step S (default: 0)"},
           {"step-time", "MS",
            "hold each batch for MS milliseconds, as a trainer would"},
           {"rank", "r/R", "run as rank r of R (default: 0/1)"},
           {"json", "", "print JSON"}},
      .example = "poniente bench train.toml --seconds 30 --step-time 250"};
}

int RunBench(const std::vector<std::string>& args) {
  const auto read = ReadCommandLine(BenchSpec(), args);
  if (const int* code = std::get_if<int>(&read)) return *code;
  const Arguments& arguments = std::get<Arguments>(read);
  const absl::StatusOr<BenchOptions> options = ReadOptions(arguments);
  if (!options.ok()) return FailUsage(std::string(options.status().message()));
  const std::string& path = arguments.positionals()[0];
  const auto config = LoadConfig(path);
  if (!config.ok()) return FailConfig(config.status());
  const absl::StatusOr<BenchRun> run = RunLoader(*config, *options);
  if (!run.ok()) return FailConfig(run.status());
  for (const std::string& warning : run->warnings) Warn(warning);
  if (arguments.Has("json")) {
    PrintJson(BenchToJson(*run, *options));
  } else {
    PrintBench(*run, *options, path);
  }
  return kExitOk;
}

}  // namespace poniente::cli
