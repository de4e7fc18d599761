// SPDX-License-Identifier: Apache-2.0
#include "bench/runs/first_epoch.h"

#include <chrono>
#include <cstdio>
#include <iterator>
#include <span>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "bench/measure/require.h"
#include "bench/measure/statistics.h"
#include "bench/readers/command_output.h"
#include "bench/readers/loader_reader.h"
#include "bench/readers/plain_readers.h"
#include "util/status_macros.h"

namespace poniente::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kMaxAmplification = 1.3;

std::string NameOf(const FirstEpochCase& one) {
  return absl::StrCat("first epoch ",
                      internal::Absl(IoBackendName(one.backend)),
                      ", batches of ", one.batch_windows,
                      one.all_tensors ? ", all tensors" : "");
}

uint64_t NumWindows(const BenchTree& tree) {
  uint64_t windows = 0;
  for (const BenchStore& store : tree.stores) windows += store.windows;
  return windows;
}

BenchTree WithBatches(const BenchTree& tree, uint64_t batch_windows) {
  BenchTree sized = tree;
  sized.data = absl::StrReplaceAll(
      tree.data, {{absl::StrCat("batch_size = ", kBatchWindows),
                   absl::StrCat("batch_size = ", batch_windows)}});
  return sized;
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
                         double seconds, Device device) {
  LoaderCase loader_case;
  loader_case.backend = one.backend;
  loader_case.device = device;
  if (one.all_tensors) {
    loader_case.token_type = TokenType::kI32;
    loader_case.tensors = {BatchTensor::kLabels, BatchTensor::kLossMask,
                           BatchTensor::kDocumentIds, BatchTensor::kPositions};
  }
  const Clock::time_point start = Clock::now();
  const Clock::time_point end =
      start + std::chrono::duration_cast<Clock::duration>(
                  std::chrono::duration<double>(seconds));
  const Config config =
      ConfigOf(WithBatches(tree, one.batch_windows), loader_case);
  const auto loader = Require(OpenLoader(config, loader_case));
  const uint64_t epoch = NumWindows(tree);
  uint64_t windows = 0;
  while (windows + one.batch_windows <= epoch && Clock::now() < end) {
    const Batch batch = Require(loader->NextBlocking());
    Require(batch.WaitUntilCopied());
    windows += batch.num_samples();
  }
  const std::chrono::duration<double> took = Clock::now() - start;
  // With what was prefetched.
  const double fetched = static_cast<double>(
      (windows + (kPrefetch + 1) * one.batch_windows) * kWindowBytes);
  RequireFewBytes(loader->metrics(), fetched);
  std::printf("%.3f\n", static_cast<double>(windows) / took.count());
}

void PrintSecondEpochShare(const BenchTree& tree, const SecondEpochCase& one) {
  const LoaderCase defaults;
  const Config config =
      ConfigOf(WithBatches(tree, one.batch_windows), defaults);
  const uint64_t batches = NumWindows(tree) / one.batch_windows;
  const uint64_t first = one.second_half ? batches / 2 : 0;
  double loader_seconds = 0;
  {
    const auto loader = Require(OpenLoader(config, defaults));
    for (uint64_t i = 0; i < batches + first; ++i) {
      Require(loader->NextBlocking());
    }
    const Clock::time_point start = Clock::now();
    for (uint64_t i = first; i < batches; ++i) Require(loader->NextBlocking());
    loader_seconds =
        std::chrono::duration<double>(Clock::now() - start).count();
  }
  const uint64_t windows = (batches - first) * one.batch_windows;
  // Steps of kBatchWindows, whatever the size of the loader's batches.
  const ServedWindows served =
      WindowsOf(ConfigOf(tree, defaults),
                (batches + first) * one.batch_windows / kBatchWindows,
                windows / kBatchWindows + 1);
  const auto copy = Require(OpenMappingCopy(served.files, served.files.bytes(),
                                            {kLoaderSlots, one.batch_windows}));
  Batches copied(std::span(served.offsets).first(windows),
                 std::chrono::hours(1), one.batch_windows);
  const Clock::time_point start = Clock::now();
  copy->ReadAll(&copied);
  const double copy_seconds =
      std::chrono::duration<double>(Clock::now() - start).count();
  std::printf("%.4f\n", copy_seconds / loader_seconds);
}

void MeasureFirstEpochs(const TreeCases& tree, const EpochRounds& rounds,
                        const ArgumentsOfCase& arguments,
                        std::vector<Bar>* bars) {
  constexpr size_t kCases = std::size(kFirstEpochCases);
  constexpr size_t kSeconds = std::size(kSecondEpochCases);
  std::vector<double> fio;
  std::vector<double> rates[kCases];
  std::vector<double> ratios[kCases];
  std::vector<double> second[kSeconds];
  for (int round = 0; round < rounds.rounds; ++round) {
    if (rounds.is_fresh) tree.MakeAnew();
    // Each round begins with another case, or with fio, so that none is always
    // the first after the stores were written.
    for (size_t k = 0; k <= kCases; ++k) {
      const size_t i = (static_cast<size_t>(round) + k) % (kCases + 1);
      if (i == kCases) {
        const absl::StatusOr<Sample> sample = tree.MeasureFio();
        if (!sample.ok()) {
          std::printf("%s first epoch: %s\n", tree.name().c_str(),
                      std::string(sample.status().message()).c_str());
          return;
        }
        fio.push_back(sample->reads_per_second);
      } else {
        tree.Prepare(CacheState::kCold);
        rates[i].push_back(NumberFromSelf(arguments(i)));
      }
    }
    for (size_t i = 0; i < kCases; ++i) {
      ratios[i].push_back(rates[i].back() / fio.back());
    }
    for (size_t i = 0; rounds.has_second_epochs && i < kSeconds; ++i) {
      tree.Prepare(CacheState::kCold);
      second[i].push_back(NumberFromSelf(arguments(kCases + i)));
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
  for (size_t i = 0; rounds.has_second_epochs && i < kSeconds; ++i) {
    bars->push_back(
        {absl::StrCat(tree.name(), " second epoch, batches of ",
                      kSecondEpochCases[i].batch_windows,
                      kSecondEpochCases[i].second_half ? ", second half" : "",
                      " / memcpy"),
         second[i], Bar::Limit::kAtLeast, 0.9});
  }
}

}  // namespace poniente::bench
