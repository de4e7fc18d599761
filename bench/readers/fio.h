// SPDX-License-Identifier: Apache-2.0
// fio as a yardstick: one job of random reads through its io_uring engine.

#ifndef PONIENTE_BENCH_READERS_FIO_H_
#define PONIENTE_BENCH_READERS_FIO_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/readers/comparison.h"

namespace poniente::bench {

struct FioJob {
  std::string name = "byte_reader_bench";
  // Files below `folder`, "" if they are given in full. It reads each as often
  // as the others, whatever its size.
  std::string folder = {};
  std::vector<std::string> files = {};
  // Of one file it reads within [0, bytes); 0: all of the files.
  uint64_t bytes = 0;
  bool direct = false;
  int depth = 64;  // reads in flight
  // Sizes of the reads, and what their offsets are multiples of.
  std::string blocks = "--bs=8k";
  bool evict = true;  // empties the files' cache first
  double seconds = 0;
};

// The line for the shell.
std::string FioCommand(const FioJob& job);

// Unavailable, saying why, if there is no fio or it cannot read so:
// the names of its files together may take 4096 bytes.
absl::StatusOr<Sample> RunFio(const FioJob& job);

}  // namespace poniente::bench

#endif  // PONIENTE_BENCH_READERS_FIO_H_
