// SPDX-License-Identifier: Apache-2.0
// Writes lines to the user's sinks, as LoaderOptions asks for them.

#ifndef PONIENTE_LOADER_METRICS_LOADER_REPORTS_H_
#define PONIENTE_LOADER_METRICS_LOADER_REPORTS_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "loader/metrics/epoch_lines.h"
#include "loader/metrics/loader_counters.h"
#include "loader/metrics/stall_watch.h"
#include "poniente/metrics.h"

namespace poniente::internal {

using LineSink = std::function<void(std::string_view)>;

// Passes the line to the sink. Without a sink, writes it to standard error,
// after "poniente: " and `kind`. An exception that the sink throws is ignored.
void EmitLine(const LineSink& sink, std::string_view kind,
              std::string_view line);
// Does so with each of the lines.
void EmitLines(const LineSink& sink, std::string_view kind,
               std::span<const std::string> lines);

// Thread safety: one call at a time, on any thread.
class LoaderReports {
 public:
  // `every_steps`: 0 for no reports.
  LoaderReports(uint64_t every_steps, LineSink log_sink, LineSink warning_sink);

  // Call it after each step. `read` returns the metrics; it is called only if
  // there may be something to report. Never throws.
  void AfterStep(const std::function<LoaderMetrics()>& read);

  // Call it after each step of a loader that says which sources begin again,
  // with what counters_ know of that; null if nothing is new. Never throws.
  void AfterEpochs(uint64_t step, LoaderCounters* news);

 private:
  const uint64_t every_steps_;
  const LineSink log_sink_;
  const LineSink warning_sink_;
  uint64_t steps_ = 0;
  LoaderMetrics reported_;
  StallWatch watch_;
  EpochLines epochs_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_METRICS_LOADER_REPORTS_H_
