// SPDX-License-Identifier: Apache-2.0
// Runs over packed stores, and what a plain loop needs to make their batches.

#ifndef PONIENTE_BENCH_RUNS_PACKED_RUN_H_
#define PONIENTE_BENCH_RUNS_PACKED_RUN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "bench/readers/plain_packing.h"
#include "poniente/config.h"
#include "poniente/loader.h"

namespace poniente::bench {

// Writes a store of random u16 ids, at least `tokens` of them, in documents of
// log-normal lengths (median 600, sigma 1), unless there is one at `path`. It
// has no order of its documents by length yet.
void WriteRandomStore(const std::string& path, uint64_t tokens, uint64_t seed);

// Tensors with everything that there is of documents.
enum class PackedTensors { kTokens, kAll };

// A run without an end, with default settings; ids are i32 if it has all
// tensors.
struct PackedRun {
  Config config;
  std::unique_ptr<Loader> loader;
};

// `data`: what [data] has besides its sizes.
PackedRun OpenPackedRun(const std::string& data, const std::string& folder,
                        size_t batch_size, size_t seq_len,
                        PackedTensors tensors);

// Windows of a packed store, and the most documents of one, padding included.
struct KnownWindows {
  PlainWindows windows;
  size_t max_documents = 0;
  double pieces_per_window = 0;  // that are read
};

// Returns the first `count` windows of epoch 0, at most all.
KnownWindows FirstWindows(const std::string& store, size_t seq_len,
                          size_t count);

// Ends the program unless the batch, of a run over one store with all tensors,
// has what WritePlainBatch() makes of the same windows. `ids`: the store's.
void RequireLikePlain(const Config& config, const Batch& batch,
                      const uint16_t* ids);

}  // namespace poniente::bench

#endif  // PONIENTE_BENCH_RUNS_PACKED_RUN_H_
