// SPDX-License-Identifier: Apache-2.0
// The items that a run of a small budget keeps of a source, so that it repeats
// them as often as a run of a large budget repeats all (docs/index-math.md 4).
// Part of the order.

#ifndef PONIENTE_INDEX_SELECTION_BUDGET_SELECTION_H_
#define PONIENTE_INDEX_SELECTION_BUDGET_SELECTION_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "poniente/selection.h"

namespace poniente::internal {

// Returns ceil(items * experiment / target): at least 1 of 1 or more items.
// REQUIRES: 1 <= experiment <= target.
uint64_t BudgetItems(uint64_t items, uint64_t experiment, uint64_t target);

// Selects BudgetItems() of `size` items: those at the first places of a
// permutation that `seed` and `size` choose. So a smaller share of the budgets
// selects a subset of what a larger one selects. ResourceExhausted and
// InvalidArgument as Selection::FromBitmap(). REQUIRES: 1 <= experiment <=
// target.
absl::StatusOr<Selection> SelectByBudget(uint64_t size, uint64_t experiment,
                                         uint64_t target, uint64_t seed);

// Selects as many of the items that `among` selects, by their ordinals.
absl::StatusOr<Selection> SelectByBudget(const Selection& among,
                                         uint64_t experiment, uint64_t target,
                                         uint64_t seed);

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_SELECTION_BUDGET_SELECTION_H_
