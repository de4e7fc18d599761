// SPDX-License-Identifier: Apache-2.0
// The loader beside plain ways to read the same windows, for two trees.
//
//   loader_bench FOLDER [--rounds N] [--seconds S] [--size-mib M]
//                [--processes P] [--only 'CASE;CASE...'] [--gpu N]
//
// Makes token stores of random u16 ids below FOLDER, M MiB in all (default
// 4096), kept for the next run of the same size. One half is the tree of
// examples/quickstart.toml with the shares of its first stage; the other a
// mixture of 200 stores of lognormal sizes (sigma 1.5), weighed by their sizes.
// In both a store is as large as its share, so that each window comes up once
// before others come up twice. Documents have 1 to 2000 tokens.
//
// A case reads batches of 1024 windows of 4096 tokens (8 KiB) in the order in
// which the loader serves them from step 0 on, in N interleaved rounds (default
// 5). What counts begins after 16 batches (cold) or 256 (hot), and ends after S
// seconds (default 2), cold at the latest with the epoch. State of the page
// cache before a case:
//   cold  nothing of the stores is in it (fadvise(DONTNEED))
//   hot   all of them are
// The cases:
//   cold fio       fio --ioengine=io_uring --rw=randread --bs=8k --iodepth=64
//                  --direct=1, one job, over the tokens files: each of them as
//                  often as the others (the whole command is printed)
//   cold reader    the same windows by ReadBatch(), O_DIRECT, without
//                  checksums, by one thread with as many batches in flight as
//                  the loader has
//   hot memcpy     the same windows by one memcpy each, in one thread, from a
//                  mapping of all files whose pages are in the page tables,
//                  into as many slots of a batch as the loader uses, which are
//                  page-aligned and have been written before
//   direct, auto   the loader by this backend: one thread of its own, 4 batches
//                  prefetched, ids as stored, checksums verified at first touch
//                  with all blocks seen, neither masks nor labels. Its consumer
//                  takes batches and drops them. Cold auto counts on no page
//                  cache, as in front of larger stores
//   auto, stores fit
//                  counts on the memory that there is
//   ..., trainer   whose consumer sleeps, with each batch in its hands, 1.25
//                  times as long as a batch took before: the ratio is 0.80 if
//                  it never waits for data
//   ..., u32 ...   with one option changed, or one tensor more in a batch; the
//                  ratio is to the case without
// The first batch of each case, and one after those that count, are compared
// with plain preads.
//
// Printed are medians over the rounds and spreads as (max - min) / median:
// tokens per second, CPU (user and system, of the process or fio's job) per
// batch, the ratio of tokens per second to that case which stands for the plain
// way (fio's to the reader's), formed within a round. `stalls` is the share of
// the batches that came more than twice as long after the one before as their
// median, `worst` the longest such time in ms.
//
// Before all of that (--only 'first epoch': that alone), the first epoch: in N
// rounds of new processes, with the page cache dropped and default settings (as
// far as the cases do not name them), the rate from the process's start on, for
// S seconds and at most one epoch, in batches of 64 and of 1024 windows, beside
// fio; `auto` also with four tensors beside the tokens. No block has been
// verified. The stores are not written anew: what the host of a virtual machine
// caches serves fio and the loader alike.
//
// --only 'fresh epochs' measures the same on one store and on the 200 stores,
// M / 2 MiB each, written anew before each round, and then whole epochs of a
// new process with default settings: the second, and its second half, beside
// memcpy. (M = 16384: 16 GiB of disk, 9 of free memory.)
//
// With --gpu N, the batches of first epochs are on GPU N before they count; the
// time to start its driver is not counted. Second epochs are not measured then.
//
// Then, with hot stores, the time from main() of a new process to the first
// batch of a run without an end, at steps 0, 10^6 and 10^9, by the loader as it
// is by default, in P interleaved processes each (default 20); and the most
// resident memory of processes that plan a run of 14e12 tokens over 200
// components of 50 shards (lengths only) and one of 14e9. A missed bar is a
// result, not an error.

#include <chrono>
#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "bench/measure/flags.h"
#include "bench/measure/gpu.h"
#include "bench/readers/comparison.h"
#include "bench/runs/bench_tree.h"
#include "bench/runs/first_batch.h"
#include "bench/runs/first_epoch.h"
#include "bench/runs/plan_memory.h"
#include "bench/runs/tree_cases.h"

namespace poniente::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kFullMib = 4096;
constexpr uint64_t kFewestMib = 64;
// What new processes are asked for.
constexpr char kFirstBatch[] = "--first-batch";
constexpr char kFirstEpoch[] = "--first-epoch";
constexpr char kFreshEpochs[] = "fresh epochs";
constexpr char kPlan[] = "--plan";

struct Options {
  std::string folder;
  double rounds = 5;
  double seconds = 2;
  double mib = kFullMib;
  double processes = 20;
  std::string only;
  std::string gpu;

  uint64_t tree_mib() const { return static_cast<uint64_t>(mib) / 2; }
};

bool ParseOptions(int argc, char** argv, Options* options) {
  if (argc < 2 || argv[1][0] == '-') return false;
  options->folder = argv[1];
  return ParseNumbers(argc, argv, 2,
                      {{"--rounds", &options->rounds},
                       {"--seconds", &options->seconds},
                       {"--size-mib", &options->mib},
                       {"--processes", &options->processes}},
                      &options->only, &options->gpu) &&
         options->rounds >= 1 && options->processes >= 1 &&
         options->mib >= kFewestMib;
}

std::vector<BenchTree> TreesOf(const std::string& folder, uint64_t mib) {
  return {QuickstartTree(folder, mib), LognormalTree(folder, mib),
          OneStoreTree(folder, mib)};
}

// A process that NumberFromSelf() has started: false if this is none.
bool AnswerAsChild(int argc, char** argv, Clock::time_point start) {
  uint64_t number = 0;
  uint64_t mib = 0;
  if (argc == 3 && argv[1] == std::string(kPlan) &&
      absl::SimpleAtoi(argv[2], &number)) {
    PrintPlanMegabytes(number);
    return true;
  }
  const std::string what = argc < 6 ? "" : argv[1];
  double seconds = 0;
  if ((what != kFirstBatch && (what != kFirstEpoch || argc != 8 ||
                               !absl::SimpleAtod(argv[6], &seconds))) ||
      !absl::SimpleAtoi(argv[3], &mib) || !absl::SimpleAtoi(argv[5], &number)) {
    return false;
  }
  for (const BenchTree& tree : TreesOf(argv[2], mib)) {
    if (tree.name != argv[4]) continue;
    if (what == kFirstBatch) {
      PrintFirstBatchSeconds(tree, number, start);
    } else if (number < std::size(kFirstEpochCases)) {
      PrintFirstEpochRate(tree, kFirstEpochCases[number], seconds,
                          RequireDevice(argv[7]));
    } else {
      PrintSecondEpochShare(
          tree, kSecondEpochCases[number - std::size(kFirstEpochCases)]);
    }
    return true;
  }
  return false;
}

void MeasureProcesses(const Options& options, const BenchTree& tree,
                      std::vector<Bar>* bars) {
  MeasureFirstBatches(
      tree, static_cast<int>(options.processes),
      [&](uint64_t step) {
        return std::vector<std::string>{kFirstBatch, options.folder,
                                        absl::StrCat(options.tree_mib()),
                                        tree.name, absl::StrCat(step)};
      },
      bars);
}

void MeasureFirstEpochsOf(const Options& options, const TreeCases& cases,
                          std::vector<Bar>* bars) {
  MeasureFirstEpochs(
      cases,
      {.rounds = static_cast<int>(options.rounds),
       .is_fresh = options.only == kFreshEpochs,
       .has_second_epochs =
           options.only == kFreshEpochs && options.gpu.empty()},
      [&](size_t number) {
        return std::vector<std::string>{kFirstEpoch,
                                        options.folder,
                                        absl::StrCat(options.tree_mib()),
                                        cases.name(),
                                        absl::StrCat(number),
                                        absl::StrCat(options.seconds),
                                        options.gpu};
      },
      bars);
}

int Main(int argc, char** argv) {
  const Clock::time_point start = Clock::now();
  if (AnswerAsChild(argc, argv, start)) return 0;
  Options options;
  if (!ParseOptions(argc, argv, &options)) {
    std::fprintf(stderr,
                 "usage: loader_bench FOLDER [--rounds N] [--seconds S] "
                 "[--size-mib M, at least %d] [--processes P] "
                 "[--only 'CASE;...'] [--gpu N]\n",
                 static_cast<int>(kFewestMib));
    return 2;
  }
  const Device device = RequireDevice(options.gpu);
  std::printf("%s, %s, %.0f MiB%s\n", DeviceName(device).c_str(),
              options.folder.c_str(), options.mib,
              options.mib < kFullMib ? ": too small for the bars" : "");
  std::vector<BenchTree> trees = TreesOf(options.folder, options.tree_mib());
  // One store is measured only fresh, the quickstart's tree never.
  if (options.only == kFreshEpochs) {
    trees.erase(trees.begin());
  } else {
    trees.pop_back();
  }
  std::vector<TreeCases> cases;
  for (const BenchTree& tree : trees) cases.emplace_back(tree, options.seconds);
  std::vector<Bar> bars;
  // Skipped beside chosen cases, unless it is asked for.
  if (options.only.empty() || options.only == "first epoch" ||
      options.only == kFreshEpochs) {
    for (const TreeCases& one : cases) {
      MeasureFirstEpochsOf(options, one, &bars);
    }
    std::printf("\n");
    if (!options.only.empty()) {
      PrintBars(bars);
      return 0;
    }
  }
  Comparison comparison({.rate = "Mtok/s",
                         .rate_per_read = 1e-6 * kSeqLen,
                         .cpu = "CPU ms",
                         .cpu_per_read = 1e-3 * kBatchWindows,
                         .shows_stalls = true});
  for (TreeCases& one : cases) {
    one.AddCold(&comparison);
    one.AddHot(&comparison);
  }
  comparison.KeepOnly(options.only);
  comparison.Run(static_cast<int>(options.rounds));
  comparison.Print();
  std::printf("\n");
  for (const TreeCases& one : cases) one.AppendBars(comparison, &bars);
  if (options.mib < kFullMib) {  // a few batches, prefetched before the clock
    for (Bar& bar : bars) bar.direction = Bar::Limit::kNone;
  }
  for (size_t i = 0; i < trees.size(); ++i) {
    cases[i].Prepare(CacheState::kHot);
    MeasureProcesses(options, trees[i], &bars);
  }
  MeasurePlanMemory(
      static_cast<int>(options.rounds),
      [](uint64_t tokens) {
        return std::vector<std::string>{kPlan, absl::StrCat(tokens)};
      },
      &bars);
  PrintBars(bars);
  return 0;
}

}  // namespace
}  // namespace poniente::bench

int main(int argc, char** argv) { return poniente::bench::Main(argc, argv); }
