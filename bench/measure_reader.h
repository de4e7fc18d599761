// SPDX-License-Identifier: Apache-2.0
// One measurement of one reader.

#ifndef PONIENTE_BENCH_MEASURE_READER_H_
#define PONIENTE_BENCH_MEASURE_READER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/comparison.h"
#include "bench/windows.h"

namespace poniente::bench {

struct Course {
  std::string path = {};
  // Of the windows to read: those of the warm-up, then those that count.
  std::vector<uint64_t> offsets = {};
  // At least 1: its first batch is compared with plain preads.
  size_t warm_up_batches = 1;
  // For those that count.
  std::chrono::duration<double> limit = std::chrono::hours(1);
};

// Opens a reader, sends it over the course and closes it. Gives the error of
// `open`; whatever goes wrong later ends the program.
absl::StatusOr<Sample> MeasureReader(const Course& course,
                                     const OpenReader& open);

}  // namespace poniente::bench

#endif  // PONIENTE_BENCH_MEASURE_READER_H_
