// SPDX-License-Identifier: Apache-2.0
// A dataset without some of its items.

#ifndef PONIENTE_DATASET_STEERING_OMISSION_NODE_H_
#define PONIENTE_DATASET_STEERING_OMISSION_NODE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "poniente/async_dataset.h"
#include "poniente/token_window.h"

namespace poniente::internal {

// Returns the dataset without the items at `indices`, in any order, each once
// or several times; the others keep their order. If items have been left out of
// the dataset in this way before, it becomes one node with both.
//
// Complexity: O(1) per item; 5 to 9 bytes for each item that is left out.
// REQUIRES: the dataset is finite, and its length final.
absl::StatusOr<DatasetPtr<TokenWindow>> WithoutItems(
    const DatasetPtr<TokenWindow>& dataset, std::vector<uint64_t> indices);

}  // namespace poniente::internal

#endif  // PONIENTE_DATASET_STEERING_OMISSION_NODE_H_
