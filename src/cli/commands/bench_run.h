// SPDX-License-Identifier: Apache-2.0
// Runs a configured loader as a trainer would, and keeps what it measured.

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
  // The first of the two ends it, or the end of the run.
  std::optional<uint64_t> steps;
  std::optional<double> seconds;
  // How long the trainer holds each batch.
  double step_seconds = 0;
  Rank rank;
};

// What came through one way of reading, or through all.
struct BackendBytes {
  std::string name;
  uint64_t bytes_asked = 0;
  uint64_t bytes_read = 0;
  uint64_t reads = 0;
};

struct BenchRun {
  LoaderMetrics metrics;
  // Wall time, from before the loader was opened to the last batch let go.
  double seconds = 0;
  // From the first Next() on.
  double first_batch_seconds = 0;
  uint64_t first_batch_tokens = 0;
  // CPU time of the whole process, its threads and the kernel's work for them.
  double cpu_seconds = 0;
  // Waits for batches after the first, in seconds, in ascending order.
  std::vector<double> waits;
  // Those that anything came through since the loader was opened, by the
  // readers of all stores. The loader's own metrics leave out the sources that
  // it does not read by ranges, such as windows of selected documents.
  std::vector<BackendBytes> backends;
  // The run, or the data, ended before steps or seconds did.
  bool has_ended = false;
  // What the loader warned of.
  std::vector<std::string> warnings;

  // After the first batch; with one batch alone, of that.
  double tokens_per_second() const;
  double batches_per_second() const;
  // Of all backends.
  BackendBytes bytes() const;
  // Bytes read per byte asked for; 0 if none was.
  double read_amplification() const;
};

// OutOfRange if the run has no such first step; what the loader says.
absl::StatusOr<BenchRun> RunLoader(const Config& config,
                                   const BenchOptions& options);

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_COMMANDS_BENCH_RUN_H_
