// SPDX-License-Identifier: Apache-2.0
// Prints a plan as tables for people.

#ifndef PONIENTE_CLI_PLAN_VIEWS_PLAN_TABLE_H_
#define PONIENTE_CLI_PLAN_VIEWS_PLAN_TABLE_H_

#include <ostream>

#include "poniente/plan.h"

namespace poniente::cli {

void PrintPlan(const PlannedRun& plan, std::ostream& out);

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_PLAN_VIEWS_PLAN_TABLE_H_
