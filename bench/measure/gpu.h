// SPDX-License-Identifier: Apache-2.0
// The GPU that a benchmark brings its batches to.

#ifndef PONIENTE_BENCH_MEASURE_GPU_H_
#define PONIENTE_BENCH_MEASURE_GPU_H_

#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "bench/measure/require.h"
#include "poniente/device.h"

namespace poniente::bench {

// Returns the GPU of `--gpu NUMBER`, and the host if `number` is empty. Ends
// the program if the GPU cannot be used.
inline Device RequireDevice(const std::string& number) {
  Device device;
  if (number.empty()) return device;
  device.type = DeviceType::kCuda;
  Require(absl::SimpleAtoi(number, &device.ordinal),
          absl::StrCat("--gpu takes a number, got '", number, "'"));
  Require(CheckDevice(device));
  return device;
}

}  // namespace poniente::bench

#endif  // PONIENTE_BENCH_MEASURE_GPU_H_
