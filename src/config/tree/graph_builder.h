// SPDX-License-Identifier: Apache-2.0
// Builds a run from a checked run: opens the stores, and makes the schedule
// and the tree of datasets.

#ifndef PONIENTE_CONFIG_TREE_GRAPH_BUILDER_H_
#define PONIENTE_CONFIG_TREE_GRAPH_BUILDER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "config/run_nodes.h"
#include "poniente/async_dataset.h"
#include "poniente/config.h"
#include "poniente/schedule.h"
#include "poniente/token_window.h"

namespace poniente::internal {

struct BuiltRun {
  DatasetPtr<TokenWindow> dataset;
  std::vector<ConfigSource> sources;
  Schedule schedule;
  std::vector<ComputedThreshold> thresholds = {};
  // What may be a mistake in the data of the sources, with its place.
  std::vector<std::string> warnings = {};
};

// Builds the run. If stores cannot be opened, the message has one line for each
// of them.
absl::StatusOr<BuiltRun> BuildRun(const Run& run);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_TREE_GRAPH_BUILDER_H_
