// SPDX-License-Identifier: Apache-2.0
// Runs a configured loader as a trainer would, and keeps the measurements.

#ifndef PONIENTE_CLI_COMMANDS_BENCH_RUN_H_
#define PONIENTE_CLI_COMMANDS_BENCH_RUN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/arguments.h"
#include "poniente/config.h"
#include "poniente/metrics.h"

namespace poniente::cli {

struct BenchOptions {
  uint64_t first_step = 0;
  // Limits of the bench: it ends at the first of the two, or at the end of the
  // run.
  std::optional<uint64_t> steps;
  std::optional<double> seconds;
  // Seconds for which the simulated trainer holds each batch.
  double step_seconds = 0;
  Rank rank;
};

// Bytes read through one backend, or through all.
struct BackendBytes {
  std::string name;
  uint64_t bytes_asked = 0;
  uint64_t bytes_read = 0;
  uint64_t reads = 0;
};

struct BenchRun {
  LoaderMetrics metrics;
  // Those of the loader, its default resolved.
  uint32_t prefetch_batches = 0;
  // Wall time, from before the loader was opened until the last batch was
  // released.
  double seconds = 0;
  // Seconds from the first Next() to its batch.
  double first_batch_seconds = 0;
  uint64_t first_batch_tokens = 0;
  // CPU time of the whole process, its threads and the kernel's work for them.
  double cpu_seconds = 0;
  // Waits for batches after the first, in seconds, in ascending order.
  std::vector<double> waits;
  // Backends that have read anything since the loader was opened, by the
  // readers of all stores. The loader's own metrics leave out sources that it
  // does not read by ranges, such as windows of selected documents.
  std::vector<BackendBytes> backends;
  // The run, or the data, ended before `steps` or `seconds`.
  bool has_ended = false;
  // Warnings of the loader.
  std::vector<std::string> warnings;

  // Returns the rate after the first batch; with only one batch, the rate of
  // that.
  double tokens_per_second() const;
  double batches_per_second() const;
  // Returns the sum over all backends.
  BackendBytes bytes() const;
  // Returns the bytes read per byte asked for; 0 if none was asked for.
  double read_amplification() const;
};

// Runs the bench. OutOfRange if the run has no such first step; errors of the
// loader.
absl::StatusOr<BenchRun> RunLoader(const Config& config,
                                   const BenchOptions& options);

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_COMMANDS_BENCH_RUN_H_
