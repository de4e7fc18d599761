// SPDX-License-Identifier: Apache-2.0
#include "loader/metrics/loader_reports.h"

#include <iostream>
#include <optional>
#include <string>
#include <utility>

#include "util/one_line.h"

namespace poniente::internal {

void EmitLine(const LineSink& sink, std::string_view kind,
              std::string_view line) {
  try {
    if (sink) return sink(line);
    std::cerr << "poniente: " << kind << OneLine(line) << std::endl;
  } catch (...) {
  }
}

void EmitLines(const LineSink& sink, std::string_view kind,
               std::span<const std::string> lines) {
  for (const std::string& line : lines) EmitLine(sink, kind, line);
}

LoaderReports::LoaderReports(uint64_t every_steps, LineSink log_sink,
                             LineSink warning_sink)
    : every_steps_(every_steps),
      log_sink_(std::move(log_sink)),
      warning_sink_(std::move(warning_sink)) {}

void LoaderReports::AfterStep(const std::function<LoaderMetrics()>& read) {
  ++steps_;
  const bool is_report = every_steps_ > 0 && steps_ % every_steps_ == 0;
  const bool is_window = StallWatch::IsDue(steps_);
  if (!is_report && !is_window) return;
  try {
    const LoaderMetrics now = read();
    if (is_window) {
      if (const std::optional<std::string> warning = watch_.Look(now)) {
        EmitLine(warning_sink_, "warning: ", *warning);
      }
    }
    if (is_report) {
      EmitLine(log_sink_, "", MetricsLine(MetricsSince(reported_, now)));
      reported_ = now;
    }
  } catch (...) {  // no memory: a line less
  }
}

void LoaderReports::AfterEpochs(uint64_t step, LoaderCounters* news) {
  try {
    if (news != nullptr) epochs_.Add(step, news->TakeEpochNews());
    if (const std::optional<std::string> line = epochs_.AfterStep(step)) {
      EmitLine(log_sink_, "", *line);
    }
  } catch (...) {  // no memory: a line less
  }
}

}  // namespace poniente::internal
