// SPDX-License-Identifier: Apache-2.0
// fio as a yardstick: one job of random reads through its io_uring engine.

#ifndef PONIENTE_BENCH_FIO_H_
#define PONIENTE_BENCH_FIO_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "bench/comparison.h"

namespace poniente::bench {

struct FioJob {
  std::string path = {};
  uint64_t bytes = 0;  // it reads within [0, bytes)
  bool direct = false;
  int depth = 64;     // reads in flight
  bool evict = true;  // empties the file's cache first
  double seconds = 0;
};

// The line for the shell.
std::string FioCommand(const FioJob& job);

// Unavailable, saying why, if there is no fio or it cannot read so.
absl::StatusOr<Sample> RunFio(const FioJob& job);

}  // namespace poniente::bench

#endif  // PONIENTE_BENCH_FIO_H_
