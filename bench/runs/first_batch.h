// SPDX-License-Identifier: Apache-2.0
// How long a new process takes to its first batch, from the start of the run
// and from far into it.

#ifndef PONIENTE_BENCH_RUNS_FIRST_BATCH_H_
#define PONIENTE_BENCH_RUNS_FIRST_BATCH_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/readers/comparison.h"
#include "bench/runs/bench_tree.h"

namespace poniente::bench {

inline constexpr uint64_t kResumeSteps[] = {0, 1000000, 1000000000};

// What the new process does: prints the seconds since `start` when it has the
// batch of `step`, and compares that batch with plain preads.
void PrintFirstBatchSeconds(const BenchTree& tree, uint64_t step,
                            std::chrono::steady_clock::time_point start);

// Those under which this program calls PrintFirstBatchSeconds() for the step.
using ArgumentsOfStep = std::function<std::vector<std::string>(uint64_t step)>;

// Runs `processes` new ones for each of kResumeSteps, in turns, prints the
// medians and appends the bars.
void MeasureFirstBatches(const BenchTree& tree, int processes,
                         const ArgumentsOfStep& arguments,
                         std::vector<Bar>* bars);

}  // namespace poniente::bench

#endif  // PONIENTE_BENCH_RUNS_FIRST_BATCH_H_
