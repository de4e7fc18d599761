// SPDX-License-Identifier: Apache-2.0
// The error of a node that holds no window.

#ifndef PONIENTE_CONFIG_TREE_EMPTY_NODES_H_
#define PONIENTE_CONFIG_TREE_EMPTY_NODES_H_

#include "absl/status/status.h"
#include "config/run_nodes.h"
#include "config/tree/sources.h"

namespace poniente::internal {

// Returns InvalidArgument, with the place of the node and the settings that may
// have left it empty. `packing`: what the nodes above it state; null if none
// does. `besides`: what the node has nevertheless, such as "a weight but ".
// REQUIRES: a node that is a leaf is open in `sources`.
absl::Status NothingToDraw(const Run& run, const ConfigSources& sources,
                           const Node& node, const NodePacking* packing,
                           const char* besides);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_TREE_EMPTY_NODES_H_
