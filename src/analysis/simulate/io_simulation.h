// SPDX-License-Identifier: Apache-2.0
// I/O locality of a run before it reads anything: which chunks of files its
// batches touch, and what a cache of chunks would save. docs/simulate.md
// defines every figure.

#ifndef PONIENTE_ANALYSIS_SIMULATE_IO_SIMULATION_H_
#define PONIENTE_ANALYSIS_SIMULATE_IO_SIMULATION_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "analysis/trace/read_trace.h"
#include "poniente/shuffle.h"

namespace poniente::internal {

// Locality of some steps that are read in chunks of one size: byte b of a file
// is in its chunk b / chunk_bytes. A batch asks for each of its chunks once.
struct ChunkLocality {
  uint64_t chunk_bytes = 0;
  // Chunks that the batches ask for in total, and the most in one batch.
  uint64_t asked_chunks = 0;
  uint64_t most_chunks_in_batch = 0;
  // Distinct chunks and their bytes: what is fetched if everything is cached.
  uint64_t touched_chunks = 0;
  uint64_t touched_bytes = 0;
  // Share of the bytes of all touched chunks that these steps use; counted anew
  // in each pass over a source.
  double used_share = 0;
  // Bytes fetched without a cache, and with LRU caches of the given sizes.
  uint64_t fetched_bytes_without_cache = 0;
  std::vector<uint64_t> fetched_bytes;
  // Size of an LRU cache with which at most one chunk in 20 is fetched again in
  // the same pass. If the steps end in the middle of a pass, chunks that still
  // have unread data count as asked for once more. Rounded up by less than 1 %.
  // 0: no cache is needed.
  uint64_t cache_needed_bytes = 0;
  // The true size may be larger: it depends on chunks that are asked for later.
  bool is_at_least = false;
};

// Simulates `trace` in chunks of `chunk_bytes`, with caches of `cache_bytes`.
// The trace was made from `reads`. REQUIRES: chunk_bytes > 0.
absl::StatusOr<ChunkLocality> SimulateChunks(
    const RunReads& reads, const ReadTrace& trace, uint64_t chunk_bytes,
    std::span<const uint64_t> cache_bytes);

struct OrderLocality {
  std::string order;  // "configured", "full_shuffle", "block_shuffle"
  std::vector<ChunkLocality> chunks;  // in the order of the options
};

struct IoSimulationOptions {
  std::vector<uint64_t> chunk_bytes = {uint64_t{64} << 10, uint64_t{1} << 20,
                                       uint64_t{16} << 20};
  std::vector<uint64_t> cache_bytes = {uint64_t{1} << 30, uint64_t{16} << 30};
  // The order of the run with a block shuffle.
  BlockShuffleOptions blocks;
};

// An order that could not be simulated, and why.
struct OrderLeftOut {
  std::string order;
  absl::Status status;
};

struct IoSimulation {
  uint64_t used_bytes = 0;
  std::vector<OrderLocality> orders;
  std::vector<OrderLeftOut> left_out;
};

// Simulates the run as it is, with a full shuffle, and with a block shuffle of
// each source. Returns an error only if the first one fails.
absl::StatusOr<IoSimulation> SimulateIo(const RunReads& reads,
                                        const IoSimulationOptions& options);

}  // namespace poniente::internal

#endif  // PONIENTE_ANALYSIS_SIMULATE_IO_SIMULATION_H_
