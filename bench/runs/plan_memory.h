// SPDX-License-Identifier: Apache-2.0
// Memory of a process that plans a run of trillions of tokens.

#ifndef PONIENTE_BENCH_RUNS_PLAN_MEMORY_H_
#define PONIENTE_BENCH_RUNS_PLAN_MEMORY_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/readers/comparison.h"

namespace poniente::bench {

inline constexpr uint64_t kPlannedTokens = 14000000000000;

// What the new process does: makes a mixture of 200 components of lognormal
// sizes, each of 50 shards end to end that hold nothing but their lengths, and
// a schedule of one pass over these tokens; resolves 4000 of its steps, one
// sample of each there and back; and prints the most memory that it ever had
// resident, in MB.
void PrintPlanMegabytes(uint64_t tokens);

// Those under which this program calls PrintPlanMegabytes().
using ArgumentsOfTokens =
    std::function<std::vector<std::string>(uint64_t tokens)>;

// Compares kPlannedTokens with a thousandth of them, in `processes` new ones
// for each, prints both and appends the bar.
void MeasurePlanMemory(int processes, const ArgumentsOfTokens& arguments,
                       std::vector<Bar>* bars);

}  // namespace poniente::bench

#endif  // PONIENTE_BENCH_RUNS_PLAN_MEMORY_H_
