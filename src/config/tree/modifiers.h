// SPDX-License-Identifier: Apache-2.0
// What a node of any kind may state of the items that it is made of: which of
// them, in which order.

#ifndef PONIENTE_CONFIG_TREE_MODIFIERS_H_
#define PONIENTE_CONFIG_TREE_MODIFIERS_H_

#include <optional>

#include "absl/status/statusor.h"
#include "config/run_nodes.h"
#include "config/tree/selections.h"
#include "poniente/async_dataset.h"
#include "poniente/mixture_dataset.h"
#include "poniente/run.h"
#include "poniente/shuffle.h"
#include "poniente/token_window.h"

namespace poniente::internal {

bool IsShuffled(const std::optional<ShuffleOptions>& shuffle);

// Returns the dataset under the node's filter, order, slice, take and repeat.
// `cut`: the budget that cuts the node; null if none does. Sets `located` if
// the error says already where it stands.
absl::StatusOr<DatasetPtr<TokenWindow>> Modified(DatasetPtr<TokenWindow> made,
                                                 const Node& node,
                                                 const RunBudget* cut,
                                                 SelectionReader* selections,
                                                 bool* located);

// Returns the position of the node that `node` uses. A root with a shuffle by
// eras or chunks shuffles what it uses; other roots leave this to that node.
NodePosition PositionOfUsed(const Node& node, NodePosition at);

// Returns InvalidArgument, with its place, if `shuffled`, which the root uses,
// would be shuffled only because it is the root, and the root then chooses
// among its items, or asks for no shuffle.
absl::Status CheckShuffledLast(const Run& run, const Node& shuffled);

// Returns the dataset in the order that the node asks for. A component is
// shuffled by its mixture, flat by itself.
absl::StatusOr<DatasetPtr<TokenWindow>> ShuffledIfAsked(
    DatasetPtr<TokenWindow> made, const Node& node, NodePosition at);

// Returns the dataset as the component of a mixture that the node describes.
MixtureComponent<TokenWindow> ComponentOf(const Node& node,
                                          DatasetPtr<TokenWindow> made);

// Returns InvalidArgument if a store below the node still grows, and no item of
// the node can be read before it is complete. REQUIRES: the nodes below are OK.
absl::Status CheckGrowth(const DatasetNode& made);
// Likewise, for a component of a mixture, because of what it states itself.
absl::Status CheckGrowingComponent(const Node& component,
                                   const DatasetNode& made);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_TREE_MODIFIERS_H_
