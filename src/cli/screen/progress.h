// SPDX-License-Identifier: Apache-2.0
// Prints the progress of the work on standard error: a bar that is redrawn on a
// terminal, or else a plain line from time to time.

#ifndef PONIENTE_CLI_SCREEN_PROGRESS_H_
#define PONIENTE_CLI_SCREEN_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace poniente::cli {

// The unit of progress.
enum class ProgressUnit { kBytes, kSteps, kSamples };

// "packing: 1.0 MB of 4.0 MB (25%), 2.0 MB/s"; with a bar, "packing
// [#####...............] 25%, 1.0 MB of 4.0 MB, 2.0 MB/s". `total`: 0 if not
// known. `share`: the share of the work that is done; below 0 if not known.
std::string ProgressLine(std::string_view what, ProgressUnit unit,
                         uint64_t done, uint64_t total, double share,
                         double seconds, bool has_bar);

class Progress {
 public:
  // `what` names the work, for example "packing"; `total` is 0 if not known.
  Progress(std::string what, uint64_t total, bool quiet,
           ProgressUnit unit = ProgressUnit::kBytes);
  // Removes the line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Sets the progress. Cheap: prints only if some time has passed.
  void Update(uint64_t done);
  // Does the same if `total` alone does not say how much work there is.
  void Update(uint64_t done, double share);

  double seconds() const;

 private:
  using Clock = std::chrono::steady_clock;

  const std::string what_;
  const uint64_t total_;
  const bool quiet_;
  const ProgressUnit unit_;
  const bool terminal_;
  const Clock::time_point start_;
  Clock::time_point next_;
  bool drawn_ = false;
};

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_SCREEN_PROGRESS_H_
