// SPDX-License-Identifier: Apache-2.0
// Decides when to warn the user that the data comes too late.

#ifndef PONIENTE_LOADER_METRICS_STALL_WATCH_H_
#define PONIENTE_LOADER_METRICS_STALL_WATCH_H_

#include <cstdint>
#include <optional>
#include <string>

#include "poniente/metrics.h"

namespace poniente::internal {

// A warning is due if, over a window of kWindowSteps steps, Next() waited for a
// tenth of the time or more and for more than kStallSeconds, not counting
// startups. After a warning there is none for kQuietSeconds, unless the cause
// changes.
class StallWatch {
 public:
  static constexpr uint64_t kWindowSteps = 100;
  static constexpr double kStallSeconds = 1;
  static constexpr double kQuietSeconds = 600;

  // Returns whether a window ends with the `steps` delivered so far; then call
  // Look().
  static bool IsDue(uint64_t steps) { return steps % kWindowSteps == 0; }

  // Returns the warning, if one is due, for the window since the last call.
  std::optional<std::string> Look(const LoaderMetrics& now);

 private:
  LoaderMetrics before_;
  Bottleneck last_ = Bottleneck::kNone;
  double quiet_until_ = 0;  // in the seconds that the metrics count
};

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_METRICS_STALL_WATCH_H_
