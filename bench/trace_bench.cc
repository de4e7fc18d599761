// SPDX-License-Identifier: Apache-2.0
// What it costs to ask a run of 14 trillion tokens what its steps see.
//
//   trace_bench [ROUNDS]
//
// In ROUNDS rounds (default 9), in processor time, as medians with the greatest
// of all beside them:
//   make                   the tree and the schedule
//   make and show          that, and all samples of one step
//   show                   one step of a run already made
//   find KIND              all readings, in the whole run, of an item of a
//                          source at the root, of one in a nested mixture, of
//                          a shard, of a source repeated a thousand times
//   diff                   with a run that is the same
// A bar is met if all rounds hold it.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "bench/measure/require.h"
#include "bench/measure/rounds.h"
#include "bench/runs/large_run.h"
#include "poniente/diff.h"
#include "poniente/trace.h"

namespace poniente::bench {
namespace {

// In each round, of each kind.
constexpr int kQuestions = 50;

class Cases {
 public:
  explicit Cases(int rounds) : rounds_(rounds) {}

  // `bar`: milliseconds; 0 if there is none.
  void Measure(const std::string& name, double bar, int times,
               const std::function<void()>& run) {
    std::vector<double> milliseconds;
    for (int i = 0; i < rounds_ * times; ++i) {
      milliseconds.push_back(Nanoseconds(run) / 1e6);
    }
    const double most =
        *std::max_element(milliseconds.begin(), milliseconds.end());
    std::printf("%-36s %10.3f %10.3f", name.c_str(), Median(milliseconds),
                most);
    if (bar > 0) {
      std::printf(" %8.0f  %s", bar, most <= bar ? "met" : "missed");
    }
    std::printf("\n");
  }

 private:
  const int rounds_;
};

std::vector<uint32_t> LeavesOf(const TracedRun& run, std::string_view kind,
                               uint64_t most_items) {
  std::vector<uint32_t> leaves;
  const auto all = run.trace().tree().leaves();
  for (uint32_t leaf = 0; leaf < all.size(); ++leaf) {
    if (all[leaf].path.starts_with(kind) &&
        all[leaf].node->length_now().readable <= most_items) {
      leaves.push_back(leaf);
    }
  }
  return leaves;
}

void MeasureFind(const TracedRun& run, const std::string& name,
                 std::string_view kind, uint64_t most_items, Cases* cases) {
  const std::vector<uint32_t> leaves = LeavesOf(run, kind, most_items);
  std::mt19937_64 random(7);
  uint64_t readings = 0, questions = 0;
  cases->Measure("find " + name, 10, kQuestions, [&] {
    const uint32_t leaf = leaves[random() % leaves.size()];
    const TreeLeaf& at = run.trace().tree().leaves()[leaf];
    const uint64_t item = random() % at.node->length_now().readable;
    readings += Require(run.FindItem(at.path, item, std::nullopt)).size();
    ++questions;
  });
  std::printf("  (%zu sources, %.1f readings each)\n", leaves.size(),
              static_cast<double>(readings) / static_cast<double>(questions));
}

int Main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 9;
  const TracedRun run = LargeRun();
  const uint64_t steps = *run.steps();
  std::printf("%.3g tokens in %llu steps from %zu sources\n\n",
              static_cast<double>(run.schedule().tokens()),
              static_cast<unsigned long long>(steps), run.sources().size());
  std::printf("%-36s %10s %10s %8s\n", "", "ms", "most", "bar");
  Cases cases(rounds);
  std::mt19937_64 random(1);
  cases.Measure("make", 0, 1, [] { LargeRun(); });
  cases.Measure("make and show", 50, 1,
                [&] { Require(LargeRun().Show(random() % steps)); });
  cases.Measure("show", 0, 5, [&] { Require(run.Show(random() % steps)); });
  MeasureFind(run, "in a source", "web", UINT64_MAX, &cases);
  MeasureFind(run, "in a nested mixture", "books", UINT64_MAX, &cases);
  MeasureFind(run, "in a shard", "code", UINT64_MAX, &cases);
  MeasureFind(run, "in a source of 305 items", "web", 1000, &cases);
  const TracedRun same = LargeRun();
  cases.Measure("diff, the same", 0, 1,
                [&] { Require(FindFirstDifference(run, same, 1000000)); });
  return 0;
}

}  // namespace
}  // namespace poniente::bench

int main(int argc, char** argv) { return poniente::bench::Main(argc, argv); }
