// SPDX-License-Identifier: Apache-2.0
// Writes a plan as JSON; docs/plan.md describes the keys.

#ifndef PONIENTE_CLI_PLAN_VIEWS_PLAN_JSON_H_
#define PONIENTE_CLI_PLAN_VIEWS_PLAN_JSON_H_

#include <nlohmann/json.hpp>

#include "poniente/plan.h"

namespace poniente::cli {

// `with_series`: whether to include the run over time, which is much longer.
nlohmann::ordered_json PlanJson(const PlannedRun& plan, bool with_series);

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_PLAN_VIEWS_PLAN_JSON_H_
