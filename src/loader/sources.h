// SPDX-License-Identifier: Apache-2.0
// What a loader says of the leaves that it reads.

#ifndef PONIENTE_LOADER_SOURCES_H_
#define PONIENTE_LOADER_SOURCES_H_

#include <vector>

#include "loader/loader_reports.h"
#include "poniente/dataset_tree.h"
#include "poniente/loader.h"

namespace poniente::internal {

// In the order of the tree's leaves, as they are read now.
std::vector<Source> SourcesOf(const DatasetTree& tree);

// A line for each leaf that is not read as preferred.
void WarnOfFallbacks(const DatasetTree& tree, const LineSink& sink);

}  // namespace poniente::internal

#endif  // PONIENTE_LOADER_SOURCES_H_
