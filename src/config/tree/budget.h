// SPDX-License-Identifier: Apache-2.0
// Cuts sources to a budget (simulated epoching).

#ifndef PONIENTE_CONFIG_TREE_BUDGET_H_
#define PONIENTE_CONFIG_TREE_BUDGET_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "config/run_nodes.h"
#include "poniente/async_dataset.h"
#include "poniente/selection.h"
#include "poniente/token_window.h"

namespace poniente::internal {

// Returns the items of a source that the budget keeps, in their order.
// InvalidArgument if its length is not final.
absl::StatusOr<DatasetPtr<TokenWindow>> CutToBudget(
    DatasetPtr<TokenWindow> source, const RunBudget& budget);

// Returns the documents that the budget keeps, of `documents`, or of all.
absl::StatusOr<Selection> CutToBudget(const Selection& documents,
                                      const RunBudget& budget);
absl::StatusOr<Selection> CutToBudget(uint64_t documents,
                                      const RunBudget& budget);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_TREE_BUDGET_H_
