// SPDX-License-Identifier: Apache-2.0
#include "bench/readers/measure_reader.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>

#include "absl/strings/str_cat.h"
#include "bench/measure/cpu_seconds.h"
#include "bench/measure/require.h"
#include "bench/measure/statistics.h"
#include "bench/readers/page_cache.h"
#include "store/posix_file.h"
#include "util/status_macros.h"

namespace poniente::bench {
namespace {

using Clock = Batches::Clock;

// Reads batches that do not count, the first of them compared.
void ReadUncounted(const Course& course, Batches::Offsets offsets,
                   WindowReader* reader) {
  Batches batches(offsets, std::chrono::hours(1), course.batch_windows);
  batches.CheckFirst([&course](Batches::Offsets read, auto slot) {
    RequireContents(course.files, read, slot);
  });
  reader->ReadAll(&batches);
}

void AddStalls(std::span<const double> seconds, Sample* sample) {
  if (seconds.empty()) return;
  const double median = Median({seconds.begin(), seconds.end()});
  const auto stalls = std::count_if(seconds.begin(), seconds.end(),
                                    [&](double s) { return s > 2 * median; });
  sample->stalled =
      static_cast<double>(stalls) / static_cast<double>(seconds.size());
  sample->worst_milliseconds =
      1e3 * *std::max_element(seconds.begin(), seconds.end());
}

}  // namespace

void RequireContents(const FileSet& files, Batches::Offsets offsets,
                     std::span<const std::byte> slot) {
  std::array<std::byte, kWindowBytes> window;
  for (size_t i = 0; i < offsets.size(); ++i) {
    const FileSet::Place place = files.Find(offsets[i]);
    const std::string& path = files.path(place.file);
    const auto fd = Require(internal::OpenFd(path, O_RDONLY));
    Require(internal::ReadAll(fd.get(), path, place.offset, window));
    const auto got = slot.subspan(i * kWindowBytes, kWindowBytes);
    if (!std::equal(got.begin(), got.end(), window.begin())) {
      Require(absl::DataLossError(absl::StrCat(
          "'", path, "': wrong bytes were read at byte ", place.offset)));
    }
  }
}

absl::StatusOr<Sample> MeasureReader(const Course& course,
                                     const OpenReader& open) {
  const Batches::Offsets offsets = course.offsets;
  Sample sample;
  sample.cached = CachedShare(course.files, offsets);
  PONIENTE_ASSIGN_OR_RETURN(const std::unique_ptr<WindowReader> reader, open());

  const size_t warm_up = course.warm_up_batches * course.batch_windows;
  ReadUncounted(course, offsets.first(warm_up), reader.get());

  const size_t kept_back = course.checks_last ? course.batch_windows : 0;
  const double cpu = CpuSeconds();
  const Clock::time_point start = Clock::now();
  Batches batches(
      offsets.subspan(warm_up, offsets.size() - warm_up - kept_back),
      std::chrono::duration_cast<Clock::duration>(course.limit),
      course.batch_windows);
  reader->ReadAll(&batches);
  const std::chrono::duration<double> took = Clock::now() - start;
  const auto reads = static_cast<double>(batches.windows_given());
  sample.reads_per_second = reads / took.count();
  sample.cpu_microseconds = 1e6 * (CpuSeconds() - cpu) / reads;
  sample.windows = warm_up + batches.windows_given();
  AddStalls(batches.seconds(), &sample);
  sample.note = reader->note();
  if (kept_back != 0) {
    ReadUncounted(course, offsets.subspan(sample.windows, kept_back),
                  reader.get());
  }
  return sample;
}

}  // namespace poniente::bench
