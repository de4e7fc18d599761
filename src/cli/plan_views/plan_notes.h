// SPDX-License-Identifier: Apache-2.0
// What a plan says in words: the same in the table, in JSON and on the page.

#ifndef PONIENTE_CLI_PLAN_VIEWS_PLAN_NOTES_H_
#define PONIENTE_CLI_PLAN_VIEWS_PLAN_NOTES_H_

#include <string>
#include <vector>

#include "analysis/plan/planned_run.h"

namespace poniente::cli {

// "anneal", or "stage 3" without a name.
std::string StageName(const internal::PlannedRun& plan, size_t stage);

// What somebody should look at before the run: starved and over-repeated
// sources, data that end early. Few lines, however many sources there are.
std::vector<std::string> Warnings(const internal::PlannedRun& plan);

// How the numbers are meant: what is expected, what was assumed.
std::vector<std::string> Remarks(const internal::PlannedRun& plan);

// "1494.8 B", "12.3 M", "4,096"
std::string ShortCount(double number);

}  // namespace poniente::cli

#endif  // PONIENTE_CLI_PLAN_VIEWS_PLAN_NOTES_H_
