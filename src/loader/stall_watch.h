// SPDX-License-Identifier: Apache-2.0
// Decides when the user is to be told that the data comes too late.

#ifndef PONIENTE_LOADER_STALL_WATCH_H_
#define PONIENTE_LOADER_STALL_WATCH_H_

#include <cstdint>
#include <optional>
#include <string>

#include "poniente/metrics.h"

namespace poniente::internal {

// A warning is due when, over a window of kWindowSteps steps, Next() waited for
// a tenth of the time or more and for more than kStallSeconds: not counting
// startups. Then none for kQuietSeconds, unless something else is behind.
class StallWatch {
 public:
  static constexpr uint64_t kWindowSteps = 100;
  static constexpr double kStallSeconds = 1;
  static constexpr double kQuietSeconds = 600;

  // With the `steps` delivered so far: a window has ended, so Look() should.
  static bool IsDue(uint64_t steps) { return steps % kWindowSteps == 0; }

  // The warning, if one is due at the end of the window that began at the last
  // call.
  std::optional<std::string> Look(const LoaderMetrics& now);

 private:
  LoaderMetrics before_;
  Bottleneck last_ = Bottleneck::kNone;
  double quiet_until_ = 0;  // in the seconds that the metrics count
};

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_STALL_WATCH_H_
