// SPDX-License-Identifier: Apache-2.0
// From a checked spec to open stores and a tree of datasets.

#ifndef PONIENTE_CONFIG_GRAPH_BUILDER_H_
#define PONIENTE_CONFIG_GRAPH_BUILDER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "config/spec.h"
#include "poniente/async_dataset.h"
#include "poniente/config.h"
#include "poniente/schedule.h"
#include "poniente/token_window.h"

namespace poniente::internal {

struct BuiltTree {
  DatasetPtr<TokenWindow> dataset;
  std::vector<ConfigSource> sources;
};

// Relative paths of stores are relative to `folder`. Messages of all stores
// that cannot be opened are joined, one per line.
absl::StatusOr<BuiltTree> BuildTree(const RunSpec& run,
                                    const std::string& folder);

absl::StatusOr<Schedule> BuildSchedule(const RunSpec& run);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_GRAPH_BUILDER_H_
