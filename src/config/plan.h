// SPDX-License-Identifier: Apache-2.0
// What a run will read, worked out before it reads anything.

#ifndef PONIENTE_CONFIG_PLAN_H_
#define PONIENTE_CONFIG_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "poniente/config.h"

namespace poniente::internal {

struct RunStage {
  std::string name;
  uint64_t first_step = 0;
  uint64_t end_step = 0;
  uint64_t samples = 0;
  double lr_scale = 1;
};

// A node of the tree, without those that only pass items on.
struct RunSource {
  std::string name;    // below the node above it
  std::string kind;    // "mixture", "flat_mixture", "store", ...
  uint32_t depth = 0;  // 0: child of the root
  // Samples in one epoch; nullopt if endless.
  std::optional<uint64_t> length;
  // Samples drawn in each stage; see PlannedRun::is_exact.
  std::vector<double> samples;

  double total() const;
  // Passes over the source by the end; nullopt if it is endless or empty.
  std::optional<double> epochs() const;
};

struct PlannedRun {
  uint64_t steps = 0;
  uint64_t batch_size = 0;
  uint32_t seq_len = 0;
  std::vector<RunStage> stages;
  std::vector<RunSource> sources;  // depth first, in the order of declaration
  // Every sample has been looked up. Else the run is too long for that: counts
  // of a mixture's components are exact but for the block that the run's end
  // cuts, and what is below another node is expected in proportion to lengths.
  bool is_exact = false;
};

// `steps` replaces the configuration's number of steps. FailedPrecondition if
// neither says where an endless run ends.
absl::StatusOr<PlannedRun> MakePlan(const Config& config,
                                    std::optional<uint64_t> steps);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_PLAN_H_
