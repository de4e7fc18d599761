// SPDX-License-Identifier: Apache-2.0
// The file that cases read, in front of it a page cache in a known state.

#ifndef PONIENTE_BENCH_READERS_BENCH_FILE_H_
#define PONIENTE_BENCH_READERS_BENCH_FILE_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/readers/comparison.h"
#include "bench/readers/file_set.h"
#include "bench/readers/fio.h"
#include "bench/readers/page_cache.h"
#include "bench/readers/windows.h"
#include "poniente/byte_reader.h"

namespace poniente::bench {

struct BenchFileOptions {
  std::string folder = {};
  uint64_t mib = 8192;
  double seconds = 2;          // of one measurement, at most
  size_t half_batches = 1536;  // of one measurement in kHalf, at most
};

class BenchFile {
 public:
  // Makes the file if it is not there.
  explicit BenchFile(const BenchFileOptions& options);

  const ByteFile& file() const { return file_; }
  uint64_t bytes() const { return bytes_; }
  // kHot holds for [0, hot_bytes()).
  uint64_t hot_bytes() const { return hot_bytes_; }

  // What a reader does in `state`, on windows that are new to it, once it has
  // read 256 batches, or all of the file.
  enum class WarmUp { kSome, kWholeFile };
  absl::StatusOr<Sample> Measure(CacheState state, const OpenReader& open,
                                 WarmUp warm_up = WarmUp::kSome);

  // What fio does in `state`. REQUIRES: state is not kHalf.
  FioJob JobFor(CacheState state, bool direct, int depth) const;
  absl::StatusOr<Sample> MeasureFio(CacheState state, bool direct, int depth);

 private:
  // Brings the cache into `state` for the windows at `offsets`.
  void Prepare(CacheState state, const std::vector<uint64_t>& offsets);
  WindowOrder& order(CacheState state) {
    return state == CacheState::kHot ? hot_order_ : order_;
  }

  const BenchFileOptions options_;
  const ByteFile file_;
  const FileSet files_;
  const uint64_t bytes_;
  const uint64_t hot_bytes_;
  WindowOrder order_;
  WindowOrder hot_order_;
  std::mt19937_64 random_;
  bool is_hot_ = false;
};

}  // namespace poniente::bench

#endif  // PONIENTE_BENCH_READERS_BENCH_FILE_H_
