// SPDX-License-Identifier: Apache-2.0
#include "bench/readers/bench_file.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "bench/readers/measure_reader.h"
#include "bench/readers/random_file.h"

namespace poniente::bench {
namespace {

constexpr size_t kWarmUpBatches = 256;

// All of them, if memory holds them with a quarter of it to spare.
uint64_t HotBytes(uint64_t bytes) {
  const uint64_t available = AvailableMemory();
  if (bytes <= available / 4 * 3) return bytes;
  return available / 2 / kSlotBytes * kSlotBytes;
}

}  // namespace

BenchFile::BenchFile(const BenchFileOptions& options)
    : options_(options),
      file_(MakeRandomFile(options.folder, options.mib)),
      files_(file_.path),
      bytes_(options.mib << 20),
      hot_bytes_(HotBytes(bytes_)),
      order_(bytes_),
      hot_order_(hot_bytes_) {}

void BenchFile::Prepare(CacheState state,
                        const std::vector<uint64_t>& offsets) {
  if (state == CacheState::kHot && is_hot_) {
    // Some systems page out what has not been used for a minute.
    if (CachedShare(files_, offsets) < 1) Load(file_.path, hot_bytes_);
    return;
  }
  Evict(file_.path);
  is_hot_ = state == CacheState::kHot;
  if (state == CacheState::kHot) Load(file_.path, hot_bytes_);
  if (state == CacheState::kHalf) {
    std::vector<uint64_t> half;
    std::copy_if(offsets.begin(), offsets.end(), std::back_inserter(half),
                 [this](uint64_t) { return random_() % 2 == 0; });
    LoadWindows(file_.path, std::move(half));
  }
}

absl::StatusOr<Sample> BenchFile::Measure(CacheState state,
                                          const OpenReader& open,
                                          WarmUp warm_up) {
  const size_t all = order(state).num_windows() / kBatch;
  const size_t some = std::min(kWarmUpBatches, all / 2);
  Course course;
  course.files = files_;
  course.warm_up_batches = warm_up == WarmUp::kSome ? some : all;
  course.limit = std::chrono::duration<double>(options_.seconds);
  size_t batches = all - some;
  if (state == CacheState::kHalf) {
    batches = std::min(batches, options_.half_batches);
  }
  course.offsets =
      order(state).Upcoming((course.warm_up_batches + batches) * kBatch);
  Prepare(state, course.offsets);
  absl::StatusOr<Sample> sample = MeasureReader(course, open);
  if (sample.ok()) order(state).Skip(sample->windows);
  return sample;
}

FioJob BenchFile::JobFor(CacheState state, bool direct, int depth) const {
  FioJob job;
  job.files = {file_.path};
  job.bytes = state == CacheState::kHot ? hot_bytes_ : bytes_;
  job.direct = direct;
  job.depth = depth;
  job.evict = state == CacheState::kCold;
  job.seconds = options_.seconds;
  return job;
}

absl::StatusOr<Sample> BenchFile::MeasureFio(CacheState state, bool direct,
                                             int depth) {
  const auto offsets = order(state).Upcoming(order(state).num_windows());
  Prepare(state, offsets);
  const double cached = CachedShare(files_, offsets);
  absl::StatusOr<Sample> sample = RunFio(JobFor(state, direct, depth));
  if (sample.ok()) sample->cached = cached;
  return sample;
}

}  // namespace poniente::bench
