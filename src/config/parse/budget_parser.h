// SPDX-License-Identifier: Apache-2.0
// Parses the budgets of simulated epoching.

#ifndef PONIENTE_CONFIG_PARSE_BUDGET_PARSER_H_
#define PONIENTE_CONFIG_PARSE_BUDGET_PARSER_H_

#include <optional>

#include "config/parse/toml_reader.h"
#include "config/run_nodes.h"

namespace poniente::internal {

// Reads `budget` of [data]; nullopt if it is not stated or wrong.
std::optional<RunBudget> ParseBudget(TableReader& data);

// Reports what cannot be combined with a budget: changes of the items of nodes
// that have several sources, of packed sources, and above a shuffle or a
// repetition. Does nothing if the run has no budget.
void CheckBudgetNodes(const Run& run, ErrorList* errors);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_PARSE_BUDGET_PARSER_H_
