// SPDX-License-Identifier: Apache-2.0
// One measurement of one reader.

#ifndef PONIENTE_BENCH_READERS_MEASURE_READER_H_
#define PONIENTE_BENCH_READERS_MEASURE_READER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/readers/comparison.h"
#include "bench/readers/file_set.h"
#include "bench/readers/windows.h"

namespace poniente::bench {

struct Course {
  FileSet files = {};
  size_t batch_windows = kBatch;
  // Of the windows to read: those of the warm-up, then those that count.
  std::vector<uint64_t> offsets = {};
  // At least 1: its first batch is compared with plain preads.
  size_t warm_up_batches = 1;
  // For those that count.
  std::chrono::duration<double> limit = std::chrono::hours(1);
  // Keeps one batch of `offsets` back, which is read and compared once the
  // others have been: by then a reader may read in another way than at first.
  bool checks_last = false;
};

// Ends the program if the slot does not hold the windows at these offsets, as
// plain preads give them.
void RequireContents(const FileSet& files, Batches::Offsets offsets,
                     std::span<const std::byte> slot);

// Opens a reader, sends it over the course and closes it. Gives the error of
// `open`; whatever goes wrong later ends the program.
absl::StatusOr<Sample> MeasureReader(const Course& course,
                                     const OpenReader& open);

}  // namespace poniente::bench

#endif  // PONIENTE_BENCH_READERS_MEASURE_READER_H_
