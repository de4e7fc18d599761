// SPDX-License-Identifier: Apache-2.0
// The evaluations of a plan, as text and as JSON.

#ifndef PONIENTE_CLI_PLAN_VIEWS_PLAN_EVALS_H_
#define PONIENTE_CLI_PLAN_VIEWS_PLAN_EVALS_H_

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "poniente/plan.h"

namespace poniente::cli {

// Returns whether training reads what the source of an evaluation reads, in
// words.
std::string TrainedWords(const PlannedEvalSource& source);

// Prints nothing if there are no evaluations.
void PrintEvals(const PlannedRun& plan, std::ostream& out);
nlohmann::ordered_json EvalsJson(const PlannedRun& plan);

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_PLAN_VIEWS_PLAN_EVALS_H_
