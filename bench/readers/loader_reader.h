// SPDX-License-Identifier: Apache-2.0
// The loader in the part of a WindowReader, and the windows that it serves.

#ifndef PONIENTE_BENCH_READERS_LOADER_READER_H_
#define PONIENTE_BENCH_READERS_LOADER_READER_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/readers/file_set.h"
#include "bench/readers/windows.h"
#include "bench/runs/bench_tree.h"
#include "poniente/config.h"
#include "poniente/loader.h"

namespace poniente::bench {

inline constexpr uint32_t kPrefetch = 4;
// Batches of which memory is in use: those under way, and the consumer's.
inline constexpr size_t kLoaderSlots = kPrefetch + 1;

struct LoaderCase {
  IoBackend backend = IoBackend::kAuto;
  VerifyChecksums verify = VerifyChecksums::kFirstTouch;
  std::optional<uint64_t> cache_bytes = std::nullopt;
  TokenType token_type = TokenType::kU16;
  std::vector<BatchTensor> tensors = {};
  Device device = {};
  // Whether it has to compare blocks with their checksums, or must not.
  bool verifies = false;
  // What the consumer does for so long between two batches.
  std::chrono::duration<double> work = {};
};

// The tree as a run without an end, read as the case says.
Config ConfigOf(const BenchTree& tree, const LoaderCase& one);

absl::StatusOr<std::unique_ptr<Loader>> OpenLoader(const Config& config,
                                                   const LoaderCase& one,
                                                   uint64_t start_step = 0);

struct ServedWindows {
  FileSet files;                  // of all leaves, one each
  std::vector<uint64_t> offsets;  // of the windows of step after step, in it
};

// What a loader serves in steps [first_step, first_step + steps), by its tree
// alone: nothing is read.
ServedWindows WindowsOf(const Config& config, uint64_t first_step,
                        uint64_t steps);

// Reads all of the stores, so that their blocks are known to be good.
void TouchAllBlocks(const BenchTree& tree);

// Takes batches, holds each while it works, and drops it. Serves the windows of
// step after step, whatever the offsets are that it is given.
class LoaderReader final : public WindowReader {
 public:
  static OpenedReader Open(const BenchTree& tree, const LoaderCase& one);

  void ReadAll(Batches* batches) override;
  // The backends in the end, with the number of stores that each serves.
  std::string note() const override;

 private:
  LoaderReader(std::unique_ptr<Loader> loader, const LoaderCase& one)
      : loader_(std::move(loader)), verifies_(one.verifies), work_(one.work) {}

  uint64_t blocks_verified() const;

  const std::unique_ptr<Loader> loader_;
  const bool verifies_;
  const std::chrono::duration<double> work_;
};

}  // namespace poniente::bench

#endif  // PONIENTE_BENCH_READERS_LOADER_READER_H_
