// SPDX-License-Identifier: Apache-2.0
// What the nodes of a tree say of themselves. In a dataset of the user's own,
// the functions that say it may throw.

#ifndef PONIENTE_DATASET_NODE_ANSWERS_H_
#define PONIENTE_DATASET_NODE_ANSWERS_H_

#include <exception>

#include "absl/status/status.h"
#include "poniente/extend/dataset_node.h"

namespace poniente::internal {

// Asks all nodes of the tree for their name and length, and those whose length
// is final for their fingerprint. Returns OK if none of them throws, else the
// error of the first that does, with its path:
// "small: mine: dataset 'shards': fingerprint(): no such file".
absl::Status CheckAnswers(const DatasetNode& root);

// Returns the status that stands for an exception of a function of the tree's
// nodes. If it is Internal, asks all nodes again: if one of them throws the
// same, returns the error of CheckAnswers(), which says which one it is.
absl::Status ErrorOfNode(const DatasetNode& root, std::exception_ptr thrown);

}  // namespace poniente::internal

#endif  // PONIENTE_DATASET_NODE_ANSWERS_H_
