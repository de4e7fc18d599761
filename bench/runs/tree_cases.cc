// SPDX-License-Identifier: Apache-2.0
#include "bench/runs/tree_cases.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <utility>

#include "bench/readers/library_reader.h"
#include "bench/readers/measure_reader.h"
#include "bench/readers/plain_readers.h"

namespace poniente::bench {
namespace {

constexpr size_t kColdWarmUp = 16;
// `auto` may take so many to see what is cached, and page tables to be filled.
constexpr size_t kHotWarmUp = 256;
// More than memory can copy.
constexpr double kHotBatchesPerSecond = 2500;

LoaderCase By(IoBackend backend, std::optional<uint64_t> cache_bytes = 0) {
  LoaderCase one;
  one.backend = backend;
  one.cache_bytes = cache_bytes;
  return one;
}

uint64_t Windows(const BenchTree& tree) {
  uint64_t windows = 0;
  for (const BenchStore& store : tree.stores) windows += store.windows;
  return windows;
}

OpenedReader OpenBareReader(const FileSet& files) {
  LibraryCase one;
  for (const std::string& path : files.paths()) one.files.push_back({path, {}});
  one.options.backend = IoBackend::kDirect;
  one.layout = {kPrefetch, kBatchWindows};
  return LibraryReader::Open(one);
}

}  // namespace

TreeCases::TreeCases(BenchTree tree, double seconds)
    : tree_(std::move(tree)),
      seconds_(seconds),
      epoch_batches_(Windows(tree_) / kBatchWindows) {
  MakeStores(tree_);
  const auto hot = static_cast<uint64_t>(seconds * kHotBatchesPerSecond);
  // A config that goes at once: its readers count as users of the page cache.
  served_ = WindowsOf(ConfigOf(tree_, LoaderCase()), 0,
                      std::max(epoch_batches_, kHotWarmUp + 2 + hot));
  TouchAllBlocks(tree_);
}

void TreeCases::MakeAnew() const {
  for (const BenchStore& store : tree_.stores) {
    std::filesystem::remove_all(tree_.folder + "/" + store.name);
  }
  MakeStores(tree_);
}

void TreeCases::Prepare(CacheState state) const {
  const FileSet& files = served_.files;
  if (state == CacheState::kHot && CachedShare(files, served_.offsets) == 1) {
    return;
  }
  for (size_t i = 0; i < files.num_files(); ++i) {
    if (state == CacheState::kHot) {
      Load(files.path(i), files.file_bytes(i));
    } else {
      Evict(files.path(i));
    }
  }
}

std::string TreeCases::Name(CacheState state, const std::string& what) const {
  const char* const names[] = {"cold ", "half ", "hot "};
  return tree_.name + " " + names[static_cast<int>(state)] + what;
}

absl::StatusOr<Sample> TreeCases::Measure(CacheState state,
                                          const OpenReader& open) const {
  const bool is_cold = state == CacheState::kCold;
  const std::span<const uint64_t> offsets = served_.offsets;
  Course course;
  course.files = served_.files;
  course.batch_windows = kBatchWindows;
  course.checks_last = true;
  course.limit = std::chrono::duration<double>(seconds_);
  course.warm_up_batches =
      is_cold ? std::min(kColdWarmUp, epoch_batches_ / 2) : kHotWarmUp;
  // Later epochs of a cold run would be less so.
  const auto of =
      offsets.first(is_cold ? epoch_batches_ * kBatchWindows : offsets.size());
  course.offsets.assign(of.begin(), of.end());
  Prepare(state);
  return MeasureReader(course, open);
}

FioJob TreeCases::Fio() const {
  FioJob job;
  job.name = "loader_bench";
  job.folder = tree_.folder;
  for (const std::string& path : served_.files.paths()) {
    job.files.push_back(
        std::filesystem::path(path).lexically_relative(tree_.folder));
  }
  job.direct = true;
  job.seconds = seconds_;
  return job;
}

absl::StatusOr<Sample> TreeCases::MeasureFio() const {
  Prepare(CacheState::kCold);
  const double cached = CachedShare(served_.files, served_.offsets);
  absl::StatusOr<Sample> sample = RunFio(Fio());
  if (sample.ok()) sample->cached = cached;
  return sample;
}

void TreeCases::Add(CacheState state, const std::string& what,
                    const std::string& baseline, OpenReader open,
                    Comparison* comparison) const {
  comparison->Add(
      Name(state, what), Name(state, baseline),
      [this, state, open = std::move(open)] { return Measure(state, open); });
}

void TreeCases::AddLoader(CacheState state, const std::string& what,
                          const std::string& baseline, const LoaderCase& one,
                          Comparison* comparison) const {
  Add(
      state, what, baseline,
      [this, one] { return LoaderReader::Open(tree_, one); }, comparison);
}

void TreeCases::AddLoaderWithOptions(CacheState state, const std::string& what,
                                     const std::string& baseline,
                                     const LoaderCase& one,
                                     Comparison* comparison) const {
  const auto batch_seconds = std::make_shared<double>(0);
  comparison->Add(Name(state, what), Name(state, baseline), [=, this] {
    absl::StatusOr<Sample> sample =
        Measure(state, [=, this] { return LoaderReader::Open(tree_, one); });
    if (sample.ok()) *batch_seconds = kBatchWindows / sample->reads_per_second;
    return sample;
  });
  Add(
      state, what + ", trainer", what,
      [=, this] {
        LoaderCase slower = one;
        slower.work = std::chrono::duration<double>(1.25 * *batch_seconds);
        return LoaderReader::Open(tree_, slower);
      },
      comparison);
  for (const TokenType type : {TokenType::kU32, TokenType::kI64}) {
    LoaderCase wide = one;
    wide.token_type = type;
    AddLoader(state, what + ", " + std::string(TokenTypeName(type)), what, wide,
              comparison);
  }
  LoaderCase always = one;
  always.verify = VerifyChecksums::kAlways;
  always.verifies = true;
  AddLoader(state, what + ", verify always", what, always, comparison);
  LoaderCase off = one;
  off.verify = VerifyChecksums::kOff;
  AddLoader(state, what + ", verify off", what, off, comparison);
}

void TreeCases::AddTensors(CacheState state, const std::string& what,
                           const LoaderCase& one,
                           Comparison* comparison) const {
  for (const BatchTensor tensor :
       {BatchTensor::kLossWeights, BatchTensor::kLossMask,
        BatchTensor::kDocumentIds, BatchTensor::kPositions}) {
    LoaderCase with = one;
    with.tensors = {tensor};
    AddLoader(state, what + ", " + std::string(BatchTensorName(tensor)), what,
              with, comparison);
  }
  LoaderCase labels = one;
  labels.token_type = TokenType::kI64;
  labels.tensors = {BatchTensor::kLabels};
  AddLoader(state, what + ", i64 labels", what + ", i64", labels, comparison);
}

void TreeCases::AddCold(Comparison* comparison) {
  constexpr CacheState kCold = CacheState::kCold;
  std::printf("%s: %s\n", Name(kCold, "fio").c_str(),
              FioCommand(Fio()).c_str());
  comparison->Add(Name(kCold, "fio"), Name(kCold, "reader"),
                  [this] { return MeasureFio(); });
  Add(
      kCold, "reader", "reader",
      [this] { return OpenBareReader(served_.files); }, comparison);
  AddLoader(kCold, "auto", "reader", By(IoBackend::kAuto), comparison);
  AddLoader(kCold, "auto, stores fit", "reader",
            By(IoBackend::kAuto, std::nullopt), comparison);
  AddLoaderWithOptions(kCold, "direct", "reader", By(IoBackend::kDirect),
                       comparison);
}

void TreeCases::AddHot(Comparison* comparison) {
  constexpr CacheState kHot = CacheState::kHot;
  Add(
      kHot, "memcpy", "memcpy",
      [this] {
        return OpenMappingCopy(served_.files, served_.files.bytes(),
                               {kLoaderSlots, kBatchWindows});
      },
      comparison);
  const LoaderCase by_auto = By(IoBackend::kAuto, std::nullopt);
  AddLoaderWithOptions(kHot, "auto", "memcpy", by_auto, comparison);
  AddTensors(kHot, "auto", by_auto, comparison);
}

void TreeCases::AppendBars(const Comparison& comparison,
                           std::vector<Bar>* bars) const {
  const auto bar = [&](CacheState state, const std::string& what,
                       const std::string& baseline, double at_least) {
    bars->push_back(comparison.RateBar(Name(state, what), Name(state, baseline),
                                       Bar::Limit::kAtLeast, at_least));
  };
  bar(CacheState::kHot, "auto", "memcpy", 0.90);
  for (const char* const how : {"auto", "direct"}) {
    bar(CacheState::kCold, how, "reader", 0.95);
    bar(CacheState::kCold, how, "fio", 0.87);
  }
}

}  // namespace poniente::bench
