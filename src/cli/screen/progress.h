// SPDX-License-Identifier: Apache-2.0
// Says on standard error how far the work is: a bar that is redrawn on a
// terminal, plain lines now and then elsewhere.

#ifndef PONIENTE_CLI_SCREEN_PROGRESS_H_
#define PONIENTE_CLI_SCREEN_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace poniente::cli {

// What is counted.
enum class ProgressUnit { kBytes, kSteps, kSamples };

// "packing: 1.0 MB of 4.0 MB (25%), 2.0 MB/s"; with a bar,
// "packing [#####...............] 25%, 1.0 MB of 4.0 MB, 2.0 MB/s". `total` 0:
// not known. `share` of all the work is done, below 0: not known.
std::string ProgressLine(std::string_view what, ProgressUnit unit,
                         uint64_t done, uint64_t total, double share,
                         double seconds, bool has_bar);

class Progress {
 public:
  // `what` is what is being done, "packing"; `total` is 0 if not known.
  Progress(std::string what, uint64_t total, bool quiet,
           ProgressUnit unit = ProgressUnit::kBytes);
  // Removes the line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Cheap: prints only when it is time to.
  void Update(uint64_t done);
  // The same where not `total` alone says how much there is to do.
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
