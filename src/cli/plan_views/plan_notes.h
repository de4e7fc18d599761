// SPDX-License-Identifier: Apache-2.0
// The sentences of a plan, which are the same in the table, in JSON and on the
// page.

#ifndef PONIENTE_CLI_PLAN_VIEWS_PLAN_NOTES_H_
#define PONIENTE_CLI_PLAN_VIEWS_PLAN_NOTES_H_

#include <string>
#include <vector>

#include "poniente/plan.h"

namespace poniente::cli {

// Returns warnings to read before the run: starved and over-repeated sources,
// data that end early. Returns few lines, even if there are many sources.
std::vector<std::string> Warnings(const PlannedRun& plan);

// Returns remarks about the numbers: which are expected values, and what was
// assumed.
std::vector<std::string> Remarks(const PlannedRun& plan);

// Returns "1494.8 B", "12.3 M", "4,096", ...
std::string ShortCount(double number);

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_PLAN_VIEWS_PLAN_NOTES_H_
