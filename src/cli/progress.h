// SPDX-License-Identifier: Apache-2.0
// Says on standard error how far the work is: a line that is redrawn on a
// terminal, plain lines now and then elsewhere.

#ifndef PONIENTE_CLI_PROGRESS_H_
#define PONIENTE_CLI_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <string>

namespace poniente::cli {

class Progress {
 public:
  enum class Unit { kBytes, kSamples };

  // `what` is what is being done, "packing"; `total` units, 0 if not known.
  Progress(std::string what, uint64_t total, bool quiet,
           Unit unit = Unit::kBytes);
  // Removes the line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Cheap: prints only when it is time to.
  void Update(uint64_t done);

  double seconds() const;

 private:
  std::string Amount(double number) const;

  using Clock = std::chrono::steady_clock;

  const std::string what_;
  const uint64_t total_;
  const bool quiet_;
  const Unit unit_;
  const bool terminal_;
  const Clock::time_point start_;
  Clock::time_point next_;
  bool drawn_ = false;
};

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_PROGRESS_H_
