// SPDX-License-Identifier: Apache-2.0
// Says in the log which sources begin again.

#ifndef PONIENTE_LOADER_METRICS_EPOCH_LINES_H_
#define PONIENTE_LOADER_METRICS_EPOCH_LINES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "loader/metrics/source_epochs.h"

namespace poniente::internal {

// Joins what happens within kStepsPerLine steps into one line, so that many
// small sources cannot fill a log. A source is named at its epochs 1, 2, 3 and
// 4, and then each time its epoch has doubled.
//
// Thread safety: one call at a time.
class EpochLines {
 public:
  static constexpr uint64_t kStepsPerLine = 10;

  // `news`: of the batch of step `step`. Call it before AfterStep().
  void Add(uint64_t step, std::span<const EpochNews> news);

  // Returns the line to write after step `step`, without a line end; nullopt if
  // there is nothing to write now.
  std::optional<std::string> AfterStep(uint64_t step);

 private:
  struct Pending {
    uint64_t epoch = 0;
    bool is_restart = false;
  };

  std::map<std::string, Pending> pending_;       // by path
  std::map<std::string, uint64_t> next_epochs_;  // to name, by path
  uint64_t first_step_ = 0;                      // of what is pending
  std::optional<uint64_t> last_line_;            // step of the last line
};

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_METRICS_EPOCH_LINES_H_
