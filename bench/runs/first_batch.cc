// SPDX-License-Identifier: Apache-2.0
#include "bench/runs/first_batch.h"

#include <cstdio>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "bench/measure/require.h"
#include "bench/measure/statistics.h"
#include "bench/readers/command_output.h"
#include "bench/readers/loader_reader.h"
#include "bench/readers/measure_reader.h"

namespace poniente::bench {
namespace {

constexpr size_t kPlaces = std::size(kResumeSteps);

}  // namespace

void PrintFirstBatchSeconds(const BenchTree& tree, uint64_t step,
                            std::chrono::steady_clock::time_point start) {
  const LoaderCase one;
  const Config config = ConfigOf(tree, one);
  const auto loader = Require(OpenLoader(config, one, step));
  const Batch batch = Require(loader->NextBlocking());
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - start;
  const ServedWindows served = WindowsOf(config, step, 1);
  RequireContents(served.files, served.offsets, batch.bytes());
  std::printf("%.9f\n", took.count());
}

void MeasureFirstBatches(const BenchTree& tree, int processes,
                         const ArgumentsOfStep& arguments,
                         std::vector<Bar>* bars) {
  std::vector<double> seconds[kPlaces];
  for (int process = 0; process < processes; ++process) {
    for (size_t i = 0; i < kPlaces; ++i) {
      seconds[i].push_back(NumberFromSelf(arguments(kResumeSteps[i])));
    }
  }
  for (size_t i = 0; i < kPlaces; ++i) {
    std::printf("%s: first batch at step %llu: %.1f ms, spread %.0f%%\n",
                tree.name.c_str(),
                static_cast<unsigned long long>(kResumeSteps[i]),
                1e3 * Median(seconds[i]), 100 * Spread(seconds[i]));
  }
  for (size_t i = 1; i < kPlaces; ++i) {
    // Their median is the ratio of the medians.
    std::vector<double> ratios = seconds[i];
    for (double& ratio : ratios) ratio /= Median(seconds[0]);
    bars->push_back({absl::StrCat(tree.name, " first batch at step ",
                                  kResumeSteps[i], " / at step 0"),
                     ratios, Bar::Limit::kAtMost, 1.2});
  }
}

}  // namespace poniente::bench
