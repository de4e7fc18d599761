// SPDX-License-Identifier: Apache-2.0
#include "config/tree/budget.h"

#include <cstdint>
#include <utility>

#include "index/selection/budget_selection.h"
#include "poniente/transforms.h"
#include "util/status_macros.h"

namespace poniente::internal {

absl::StatusOr<DatasetPtr<TokenWindow>> CutToBudget(
    DatasetPtr<TokenWindow> source, const RunBudget& budget) {
  const LengthState length = source->length_now();
  if (!length.is_final || length.is_endless) {
    return absl::InvalidArgumentError(
        "is endless or still grows, so a budget cannot cut a share of it: "
        "leave data.budget out, or give it an end");
  }
  const uint64_t items = length.readable;
  if (BudgetItems(items, budget.experiment, budget.target) == items) {
    return source;
  }
  PONIENTE_ASSIGN_OR_RETURN(
      Selection kept,
      SelectByBudget(items, budget.experiment, budget.target, budget.seed));
  return Filter(std::move(source), std::move(kept));
}

absl::StatusOr<Selection> CutToBudget(const Selection& documents,
                                      const RunBudget& budget) {
  return SelectByBudget(documents, budget.experiment, budget.target,
                        budget.seed);
}

absl::StatusOr<Selection> CutToBudget(uint64_t documents,
                                      const RunBudget& budget) {
  return SelectByBudget(documents, budget.experiment, budget.target,
                        budget.seed);
}

}  // namespace poniente::internal
