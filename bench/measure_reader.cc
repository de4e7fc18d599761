// SPDX-License-Identifier: Apache-2.0
#include "bench/measure_reader.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>

#include "absl/strings/str_cat.h"
#include "bench/cpu_seconds.h"
#include "bench/page_cache.h"
#include "bench/require.h"
#include "store/posix_file.h"
#include "util/status_macros.h"

namespace poniente::bench {
namespace {

using Clock = Batches::Clock;

void RequireContents(const std::string& path, std::span<const uint64_t> offsets,
                     std::span<const std::byte> slot) {
  const auto fd = Require(internal::OpenFd(path, O_RDONLY));
  std::array<std::byte, kWindowBytes> window;
  for (size_t i = 0; i < offsets.size(); ++i) {
    Require(internal::ReadAll(fd.get(), path, offsets[i], window));
    const auto got = slot.subspan(i * kWindowBytes, kWindowBytes);
    if (!std::equal(got.begin(), got.end(), window.begin())) {
      Require(absl::DataLossError(absl::StrCat(
          "'", path, "': wrong bytes were read at byte ", offsets[i])));
    }
  }
}

}  // namespace

absl::StatusOr<Sample> MeasureReader(const Course& course,
                                     const OpenReader& open) {
  const std::span<const uint64_t> offsets = course.offsets;
  Sample sample;
  sample.cached = CachedShare(course.path, offsets);
  PONIENTE_ASSIGN_OR_RETURN(const std::unique_ptr<WindowReader> reader, open());

  const size_t warm_up = course.warm_up_batches * kBatch;
  Batches unmeasured(offsets.first(warm_up), std::chrono::hours(1));
  unmeasured.CheckFirst([&](Batches::Offsets read, auto slot) {
    RequireContents(course.path, read, slot);
  });
  reader->ReadAll(&unmeasured);

  const double cpu = CpuSeconds();
  const Clock::time_point start = Clock::now();
  Batches batches(offsets.subspan(warm_up),
                  std::chrono::duration_cast<Clock::duration>(course.limit));
  reader->ReadAll(&batches);
  const std::chrono::duration<double> took = Clock::now() - start;
  const auto reads = static_cast<double>(batches.windows_given());
  sample.reads_per_second = reads / took.count();
  sample.cpu_microseconds = 1e6 * (CpuSeconds() - cpu) / reads;
  sample.windows = warm_up + batches.windows_given();
  sample.note = reader->note();
  return sample;
}

}  // namespace poniente::bench
