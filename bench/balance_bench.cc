// SPDX-License-Identifier: Apache-2.0
// How evenly the work of a step is shared among ranks, and what that costs.
//
//   balance_bench [ROUNDS [FOLDER]]
//
// First table: the greatest work of a rank / the mean of all ranks, as median
// and 99th percentile of 1000 steps of 512 samples on 64 ranks, for windows of
// log-normal documents (or, where it is said, of a power law) that are packed
// by the library, packed as they come, or concatenated:
//   as they come  consecutive samples of the step, as RankShare() takes them
//   snake         by descending work, ranks in turn, to and fro
//   balanced      BalancedOrder() of the attention's work
//   in bar        the share of the steps in which this is at most 1.02
//   bound         what no order can be below: the heaviest sample / the mean
//                 of all ranks, at least 1
//   and linear    BalancedOrder() of all work of a transformer of width 4096
// The last column is of all that work, the others are of the attention's.
//
// Second table: processor time per step, in ROUNDS interleaved rounds (default
// 9), beside one mix64 (m) as in index_bench; for BalancedOrder(), the snake,
// the micro-batches of a rank's 8 samples, and a context-parallel rank's slices
// of a step of 512 samples. With FOLDER, where a store of 10^7 log-normal
// documents is made if it is not there (350 MB), also for all that a loader
// does to divide a step of 512 packed windows: which windows they are, what
// work each is, and BalancedOrder(); as the root, and below a mixture of four
// such.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/measure/packed_windows.h"
#include "bench/measure/require.h"
#include "bench/measure/rounds.h"
#include "bench/measure/sparse_store.h"
#include "dataset/step_sharing.h"
#include "poniente/dataset_tree.h"
#include "poniente/mixture_dataset.h"
#include "poniente/shares.h"
#include "poniente/token_store.h"

namespace poniente::bench {
namespace {

constexpr size_t kStep = 512;
constexpr uint32_t kRanks = 64;
// Windows that steps are drawn from: at most so many, of this many tokens in
// all.
constexpr size_t kPool = 128 * kStep;
constexpr uint64_t kPoolTokens = uint64_t{1} << 29;
constexpr int kSteps = 1000;
// Of the greatest work of a rank / the mean; wanted in 99.5 % of the steps.
constexpr double kBar = 1.02;
constexpr uint64_t kLinearCost = 6 * 4096;

using Orderer = std::function<std::vector<uint64_t>(std::span<const uint64_t>,
                                                    uint32_t ranks)>;

// Makes the compiler believe that memory was read and written.
void UseMemory() { asm volatile("" : : : "memory"); }

std::vector<uint64_t> AsTheyCome(std::span<const uint64_t> work, uint32_t) {
  std::vector<uint64_t> order(work.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// REQUIRES: `ranks` divides the samples.
std::vector<uint64_t> Snake(std::span<const uint64_t> work, uint32_t ranks) {
  std::vector<uint64_t> heaviest = AsTheyCome(work, ranks);
  std::sort(heaviest.begin(), heaviest.end(), [&](uint64_t a, uint64_t b) {
    return work[a] != work[b] ? work[a] > work[b] : a < b;
  });
  std::vector<uint64_t> order(work.size());
  const size_t share = work.size() / ranks;
  for (size_t i = 0; i < work.size(); ++i) {
    const size_t turn = i / ranks;
    const size_t at = i % ranks;
    const size_t rank = turn % 2 == 0 ? at : ranks - 1 - at;
    order[rank * share + turn] = heaviest[i];
  }
  return order;
}

// Returns the greatest work of a rank / the mean.
double Imbalance(std::span<const uint64_t> work,
                 const std::vector<uint64_t>& order) {
  double sum = 0;
  double most = 0;
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    const BatchShare share = RankShare(order.size(), rank, kRanks);
    double load = 0;
    for (uint64_t i = share.begin; i < share.end; ++i) {
      load += static_cast<double>(work[order[i]]);
    }
    sum += load;
    most = std::max(most, load);
  }
  return most * kRanks / sum;
}

// Returns what no order has less of.
double LeastImbalance(std::span<const uint64_t> work) {
  const double sum = std::accumulate(work.begin(), work.end(), 0.0);
  const uint64_t heaviest = *std::max_element(work.begin(), work.end());
  return std::max(1.0, static_cast<double>(heaviest) * kRanks / sum);
}

// Returns what `imbalance` gives for each of kSteps steps, in ascending order.
std::vector<double> OfSteps(
    std::vector<uint64_t> pool,
    const std::function<double(std::span<const uint64_t>)>& imbalance) {
  std::mt19937_64 random(2);
  std::vector<double> imbalances;
  for (size_t at = pool.size(); imbalances.size() < kSteps; at += kStep) {
    if (at == pool.size()) {
      std::shuffle(pool.begin(), pool.end(), random);
      at = 0;
    }
    imbalances.push_back(imbalance({&pool[at], kStep}));
  }
  std::sort(imbalances.begin(), imbalances.end());
  return imbalances;
}

// Prints the median and the 99th percentile.
void PrintSpread(const std::vector<double>& imbalances) {
  std::printf("  %6.4f %6.4f", imbalances[kSteps / 2],
              imbalances[kSteps * 99 / 100]);
}

std::vector<double> Imbalances(const std::vector<uint64_t>& pool,
                               const Orderer& orderer) {
  return OfSteps(pool, [&](std::span<const uint64_t> work) {
    return Imbalance(work, orderer(work, kRanks));
  });
}

std::vector<uint64_t> WorkOf(const std::vector<PackedWindow>& windows,
                             uint32_t seq_len, uint64_t linear_cost) {
  std::vector<uint64_t> work;
  for (const PackedWindow& window : windows) {
    work.push_back(SampleWork(window, seq_len, linear_cost));
  }
  return work;
}

void PrintRow(Packing packing, const std::string& name, uint32_t seq_len,
              DrawLength length = LogNormalLength) {
  const std::vector<PackedWindow> windows =
      MakePackedWindows(std::min(kPool, kPoolTokens / seq_len), seq_len,
                        packing, /*seed=*/1, length);
  const std::vector<uint64_t> attention = WorkOf(windows, seq_len, 0);
  std::printf("%-24s", absl::StrCat(name, " ", seq_len).c_str());
  PrintSpread(Imbalances(attention, AsTheyCome));
  PrintSpread(Imbalances(attention, Snake));
  const std::vector<double> balanced = Imbalances(attention, BalancedOrder);
  PrintSpread(balanced);
  const auto held = std::upper_bound(balanced.begin(), balanced.end(), kBar) -
                    balanced.begin();
  std::printf("  %5.1f%%", 100.0 * static_cast<double>(held) / kSteps);
  PrintSpread(OfSteps(attention, LeastImbalance));
  PrintSpread(Imbalances(WorkOf(windows, seq_len, kLinearCost), BalancedOrder));
  std::printf("\n");
}

void PrintTable() {
  std::printf("%-24s  %-13s  %-13s  %-13s  %-6s  %-13s  %-13s\n",
              "max / mean, p50 p99", "as they come", "snake", "balanced",
              "in bar", "bound", "and linear");
  for (const uint32_t seq_len : {2048, 4096, 8192, 131072}) {
    PrintRow(Packing::kPacked, "packed", seq_len);
  }
  for (const uint32_t seq_len : {2048, 4096, 8192, 131072}) {
    PrintRow(Packing::kPacked, "packed, power law", seq_len, PowerLength);
  }
  for (const uint32_t seq_len : {2048, 4096, 8192}) {
    PrintRow(Packing::kAsTheyCome, "as they come", seq_len);
  }
  for (const uint32_t seq_len : {2048, 4096, 8192}) {
    PrintRow(Packing::kConcatenated, "concatenated", seq_len);
  }
}

void AddOrder(const std::string& name, const Orderer& orderer, size_t samples,
              uint32_t ranks, Rounds* rounds) {
  std::vector<uint64_t> pool =
      WorkOf(MakePackedWindows(kPool, 4096, Packing::kPacked, 1), 4096, 0);
  rounds->Add(
      absl::StrCat(name, " ", samples, " on ", ranks),
      Repeated(1, [=, pool = std::move(pool), at = size_t{0}]() mutable {
        const auto order = orderer({&pool[at], samples}, ranks);
        at = (at + samples) % kPool;
        UseMemory();
      }));
}

void AddMicroBatches(Rounds* rounds) {
  const std::vector<uint64_t> tokens = {4096, 4096, 4000, 3900,
                                        3500, 3000, 2000, 1000};
  rounds->Add("micro-batches of 8 samples", Repeated(1, [=] {
                MicroBatches(tokens, 8192);
                UseMemory();
              }));
}

void AddSlices(ContextSplit split, const std::string& name, Rounds* rounds) {
  constexpr uint32_t kContextRanks = 8;
  constexpr uint32_t kUnit = 2 * kContextRanks;
  constexpr uint32_t kSeqLen = 8192;
  std::vector<PackedWindow> windows =
      MakePackedWindows(kStep, kSeqLen / kUnit, Packing::kAsTheyCome, 1);
  for (PackedWindow& window : windows) {
    for (uint32_t& length : window) length *= kUnit;
  }
  rounds->Add(
      absl::StrCat("512 slices, ", name), Repeated(1, [=] {
        for (const PackedWindow& window : windows) {
          Require(MakeContextSlice(split, kSeqLen, window, 3, kContextRanks));
        }
        UseMemory();
      }));
}

// What a loader with even_work does for each step.
void AddDivision(const std::string& store, uint32_t window_tokens,
                 uint32_t components, Rounds* rounds) {
  const auto source = Require(TokenStore::Open(store));
  DatasetPtr<TokenWindow> root = Require(source->PackedWindows(window_tokens));
  if (components > 1) {
    std::vector<MixtureComponent<TokenWindow>> parts;
    for (uint32_t c = 0; c < components; ++c) {
      parts.push_back({.name = absl::StrCat("part ", c),
                       .dataset = root,
                       .weight = 1.0 + c});
    }
    root = Require(MixtureDataset<TokenWindow>::Create(parts, {}));
  } else {
    root = root->WithSeed(42);
  }
  SampleSharing even;
  even.even_work = true;
  // Each borrows from those before it.
  struct Divided {
    Divided(DatasetPtr<TokenWindow> dataset, const SampleSharing& even)
        : root(std::move(dataset)), tree(*root), sharing(tree, even) {}
    DatasetPtr<TokenWindow> root;
    DatasetTree tree;
    internal::StepSharing sharing;
  };
  const auto divided = std::make_shared<const Divided>(std::move(root), even);
  StepPlan plan;
  plan.batch_size = kStep;
  plan.seq_len = window_tokens;
  rounds->Add(absl::StrCat("division ", window_tokens,
                           components > 1 ? " mixture" : ""),
              Repeated(1, [=]() mutable {
                plan.first_sample += kStep;
                if (plan.first_sample > 500 * kStep) plan.first_sample = 0;
                Require(divided->sharing.SamplesOf(plan, 3, kRanks));
              }));
}

int Main(int argc, char** argv) {
  PrintTable();
  std::printf("\n");
  Rounds rounds;
  for (const auto& [samples, ranks] :
       {std::pair{kStep, kRanks}, {kStep, 8u}, {kPool / 8, 1024u}}) {
    AddOrder("BalancedOrder", BalancedOrder, samples, ranks, &rounds);
    AddOrder("snake", Snake, samples, ranks, &rounds);
  }
  AddMicroBatches(&rounds);
  AddSlices(ContextSplit::kContiguous, "contiguous", &rounds);
  AddSlices(ContextSplit::kZigZag, "zig-zag", &rounds);
  AddSlices(ContextSplit::kZigZagPerDocument, "per document", &rounds);
  std::vector<std::string> divisions;
  if (argc > 2) {
    const std::string store = absl::StrCat(argv[2], "/log-normal-10000000");
    WriteSparseStore(store, 10'000'000, LogNormalLength);
    for (const uint32_t components : {1u, 4u}) {
      for (const uint32_t window : {2048u, 4096u, 8192u}) {
        AddDivision(store, window, components, &rounds);
        divisions.push_back(absl::StrCat("division ", window,
                                         components > 1 ? " mixture" : ""));
      }
    }
  }
  rounds.Run(argc > 1 ? std::max(1, std::atoi(argv[1])) : 9);
  rounds.Print();

  std::printf("\n");
  divisions.insert(divisions.begin(), "BalancedOrder 512 on 64");
  for (const std::string& name : divisions) {
    const Series& step = rounds.series(name);
    const double us = step.nanoseconds() / 1e3;
    const double noise = step.noise_nanoseconds() / 1e3;
    std::printf("bar: %s: %.1f us, noise %.1f, at most 60.0 us: %s\n",
                name.c_str(), us, noise,
                us + noise <= 60 ? "met"
                : us <= 60       ? "too noisy"
                                 : "missed");
  }
  return 0;
}

}  // namespace
}  // namespace poniente::bench

int main(int argc, char** argv) { return poniente::bench::Main(argc, argv); }
