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
#include "poniente/device.h"

namespace poniente::bench {

// What a process reads from its first batch on, with default settings but for
// these.
struct FirstEpochCase {
  IoBackend backend;
  uint64_t batch_windows;
  // Labels, loss masks, document ids and positions beside the tokens, as i32.
  bool all_tensors = false;
};

inline constexpr FirstEpochCase kFirstEpochCases[] = {
    {IoBackend::kAuto, 64},       {IoBackend::kAuto, 1024},
    {IoBackend::kAuto, 64, true}, {IoBackend::kAuto, 1024, true},
    {IoBackend::kDirect, 64},     {IoBackend::kDirect, 1024}};

// What the new process does: reads for `seconds`, from before the stores are
// opened, at most one epoch, brings the batches to the device, and prints
// windows per second. Ends the program if it reads more than 1.3 times the
// bytes of the windows.
void PrintFirstEpochRate(const BenchTree& tree, const FirstEpochCase& one,
                         double seconds, Device device);

// What a process reads in its second epoch, with default settings.
struct SecondEpochCase {
  uint64_t batch_windows;
  // Measures from the middle of the epoch on, instead of from its beginning:
  // the page tables know most pages by then.
  bool second_half;
};

inline constexpr SecondEpochCase kSecondEpochCases[] = {
    {64, false}, {1024, false}, {64, true}, {1024, true}};

// What the new process does: reads one epoch, then the next, and prints the
// latter's rate as a share of that of a loop that copies the same windows, from
// a mapping whose pages are in the page tables, into as many slots.
void PrintSecondEpochShare(const BenchTree& tree, const SecondEpochCase& one);

// The arguments under which this program calls PrintFirstEpochRate() for case
// `number` of kFirstEpochCases, or, behind these, PrintSecondEpochShare() for
// one of kSecondEpochCases.
using ArgumentsOfCase = std::function<std::vector<std::string>(size_t number)>;

struct EpochRounds {
  int rounds;
  // Whether the stores are written anew before each round, so that no round
  // finds what the host of a virtual machine kept of the round before.
  bool is_fresh = false;
  bool has_second_epochs = false;
};

// Measures each case in a new process and fio, in turns, each with the page
// cache dropped. Prints the medians and appends the bars.
void MeasureFirstEpochs(const TreeCases& tree, const EpochRounds& rounds,
                        const ArgumentsOfCase& arguments,
                        std::vector<Bar>* bars);

}  // namespace poniente::bench

#endif  // PONIENTE_BENCH_RUNS_FIRST_EPOCH_H_
