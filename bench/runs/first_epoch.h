// SPDX-License-Identifier: Apache-2.0
// The first epoch: how fast a new process reads stores of which it has verified
// nothing, and of which the page cache holds nothing.

#ifndef PONIENTE_BENCH_RUNS_FIRST_EPOCH_H_
#define PONIENTE_BENCH_RUNS_FIRST_EPOCH_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/readers/comparison.h"
#include "bench/runs/bench_tree.h"
#include "bench/runs/tree_cases.h"
#include "poniente/byte_reader.h"

namespace poniente::bench {

// What a process reads from its first batch on, with default settings but for
// these.
struct FirstEpochCase {
  IoBackend backend;
  uint64_t batch_windows;
};

inline constexpr FirstEpochCase kFirstEpochCases[] = {
    {IoBackend::kAuto, 64},
    {IoBackend::kAuto, 1024},
    {IoBackend::kDirect, 64},
    {IoBackend::kDirect, 1024}};

// What the new process does: reads for `seconds`, from before the stores are
// opened, at most one epoch, and prints windows per second. Ends the program if
// it reads more than 1.3 times the bytes of the windows.
void PrintFirstEpochRate(const BenchTree& tree, const FirstEpochCase& one,
                         double seconds);

// The arguments under which this program calls PrintFirstEpochRate() for case
// `number` of kFirstEpochCases.
using ArgumentsOfCase = std::function<std::vector<std::string>(size_t number)>;

// Measures each case in a new process and fio, in turns, each with the page
// cache dropped. Prints the medians and appends the bars.
void MeasureFirstEpochs(const TreeCases& tree, int rounds,
                        const ArgumentsOfCase& arguments,
                        std::vector<Bar>* bars);

}  // namespace poniente::bench

#endif  // PONIENTE_BENCH_RUNS_FIRST_EPOCH_H_
