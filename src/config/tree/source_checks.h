// SPDX-License-Identifier: Apache-2.0
// What a source cannot or should not be combined with. Parsers see it only
// where the source itself states both; here, nodes above may have stated one.

#ifndef PONIENTE_CONFIG_TREE_SOURCE_CHECKS_H_
#define PONIENTE_CONFIG_TREE_SOURCE_CHECKS_H_

#include <string>

#include "absl/status/status.h"
#include "poniente/extend/dataset_node.h"
#include "poniente/packing.h"
#include "poniente/run.h"

namespace poniente::internal {

// Returns the error on one line, with its place in the configuration in front.
absl::Status AtItsPlace(const SourceLocation& location,
                        const absl::Status& status);

// Return InvalidArgument if a source from which something is held out, or one
// that is still being written, cannot be read as stated. `packing`, `hold_out`:
// null if there is none.
absl::Status CheckHoldOut(const Node& node, const PackingOptions* packing,
                          const NodeHoldOut& hold_out);
absl::Status CheckGrowing(const Run& run, const PackingOptions* packing,
                          const NodeHoldOut* hold_out);

// Returns InvalidArgument if a dataset of the program's own gives windows of
// another length than the run's.
absl::Status CheckOwnWindows(const Run& run, const DatasetNode& own);

// Returns a warning, with its place, if the node chooses items by number where
// each epoch has others: windows of packed documents. Else an empty text.
// `below`: what it chooses from.
std::string WarningOfPackedChoice(const Node& node, const DatasetNode& below);

// Returns a warning, with its place, if more than a tenth of a source's packed
// windows is padding, and what may make it less. Else an empty text.
// `source`: its windows.
std::string WarningOfPadding(const Node& node, const PackingOptions& options,
                             const DatasetNode& source);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_TREE_SOURCE_CHECKS_H_
