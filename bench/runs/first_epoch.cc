// SPDX-License-Identifier: Apache-2.0
#include "bench/runs/first_epoch.h"

#include <chrono>
#include <cstdio>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "bench/measure/require.h"
#include "bench/measure/statistics.h"
#include "bench/readers/command_output.h"
#include "bench/readers/loader_reader.h"
#include "util/status_macros.h"

namespace poniente::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kMaxAmplification = 1.3;

std::string NameOf(const FirstEpochCase& one) {
  return absl::StrCat("first epoch ",
                      internal::Absl(IoBackendName(one.backend)),
                      ", batches of ", one.batch_windows);
}

uint64_t NumWindows(const BenchTree& tree) {
  uint64_t windows = 0;
  for (const BenchStore& store : tree.stores) windows += store.windows;
  return windows;
}

void RequireFewBytes(const LoaderMetrics& metrics, double delivered) {
  const double read = static_cast<double>(metrics.bytes_read) / delivered;
  if (read <= kMaxAmplification) return;
  Require(absl::InternalError(absl::StrCat("bytes read / bytes delivered is ",
                                           read, ", at most ",
                                           kMaxAmplification, " is wanted")));
}

}  // namespace

void PrintFirstEpochRate(const BenchTree& tree, const FirstEpochCase& one,
                         double seconds) {
  BenchTree sized = tree;
  sized.data = absl::StrReplaceAll(
      tree.data, {{absl::StrCat("batch_size = ", kBatchWindows),
                   absl::StrCat("batch_size = ", one.batch_windows)}});
  LoaderCase loader_case;
  loader_case.backend = one.backend;
  const Clock::time_point start = Clock::now();
  const Clock::time_point end =
      start + std::chrono::duration_cast<Clock::duration>(
                  std::chrono::duration<double>(seconds));
  const Config config = ConfigOf(sized, loader_case);
  const auto loader = Require(OpenLoader(config, loader_case));
  const uint64_t epoch = NumWindows(tree);
  uint64_t windows = 0;
  while (windows + one.batch_windows <= epoch && Clock::now() < end) {
    windows += Require(loader->NextBlocking()).num_samples();
  }
  const std::chrono::duration<double> took = Clock::now() - start;
  // With what was prefetched.
  const double fetched = static_cast<double>(
      (windows + (kPrefetch + 1) * one.batch_windows) * kWindowBytes);
  RequireFewBytes(loader->metrics(), fetched);
  std::printf("%.3f\n", static_cast<double>(windows) / took.count());
}

void MeasureFirstEpochs(const TreeCases& tree, int rounds,
                        const ArgumentsOfCase& arguments,
                        std::vector<Bar>* bars) {
  constexpr size_t kCases = std::size(kFirstEpochCases);
  std::vector<double> fio;
  std::vector<double> rates[kCases];
  std::vector<double> ratios[kCases];
  for (int round = 0; round < rounds; ++round) {
    const absl::StatusOr<Sample> sample = tree.MeasureFio();
    if (!sample.ok()) {
      std::printf("%s first epoch: %s\n", tree.name().c_str(),
                  std::string(sample.status().message()).c_str());
      return;
    }
    fio.push_back(sample->reads_per_second);
    for (size_t i = 0; i < kCases; ++i) {
      tree.Prepare(CacheState::kCold);
      rates[i].push_back(NumberFromSelf(arguments(i)));
      ratios[i].push_back(rates[i].back() / fio.back());
    }
  }
  std::printf("%s first epoch: fio %.1f kreads/s, spread %.0f%%\n",
              tree.name().c_str(), 1e-3 * Median(fio), 100 * Spread(fio));
  for (size_t i = 0; i < kCases; ++i) {
    const std::string name =
        absl::StrCat(tree.name(), " ", NameOf(kFirstEpochCases[i]));
    std::printf("%s: %.1f kwindows/s, spread %.0f%%\n", name.c_str(),
                1e-3 * Median(rates[i]), 100 * Spread(rates[i]));
    bars->push_back({name + " / fio", ratios[i], Bar::Limit::kAtLeast, 0.9});
  }
}

}  // namespace poniente::bench
