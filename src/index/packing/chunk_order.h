// SPDX-License-Identifier: Apache-2.0
// Which window comes when, where documents are packed by chunks
// (docs/packing.md).

#ifndef PONIENTE_INDEX_PACKING_CHUNK_ORDER_H_
#define PONIENTE_INDEX_PACKING_CHUNK_ORDER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "index/packing/window_packing.h"
#include "poniente/permutation.h"

namespace poniente::internal {

// A bin of a chunk's packing (WindowPacking).
struct ChunkBin {
  uint64_t chunk = 0;
  uint64_t bin = 0;

  friend bool operator==(const ChunkBin&, const ChunkBin&) = default;
};

// The order of one epoch. The chunks are shuffled, and `shuffle_chunks`
// consecutive ones of that order form a shuffle window: their windows are
// shuffled together, after those of all chunks before them. Without shuffle,
// all windows are in stored order.
//
// Determinism: a pure function of what it was made from. Golden values pin it.
// Memory: 8 bytes per chunk.
// Thread safety: immutable; any number of threads.
class ChunkOrder {
 public:
  // `windows`: how many windows each chunk has; some may have none. Complexity:
  // O(chunks). REQUIRES: shuffle_chunks >= 1.
  ChunkOrder(std::span<const uint64_t> windows, uint64_t shuffle_chunks,
             const PackingOrder& order);

  uint64_t num_windows() const { return starts_.back(); }

  // Returns what window `window` of the epoch holds. Complexity: O(log chunks).
  // REQUIRES: window < num_windows().
  ChunkBin BinAt(uint64_t window) const;
  // Returns the window of a bin. Complexity: O(1). REQUIRES: it exists.
  uint64_t WindowOf(const ChunkBin& bin) const;

  // The sets in which documents are read, one after the other: the shuffle
  // windows, or single chunks if there is no shuffle. At least one.
  uint64_t num_sets() const;
  // Returns the set of a window. Complexity: O(log chunks). REQUIRES: window <
  // num_windows().
  uint64_t SetOf(uint64_t window) const;
  // Returns the windows of all sets before this one. REQUIRES: set <=
  // num_sets().
  uint64_t FirstOfSet(uint64_t set) const;

 private:
  // The windows [begin, end) of shuffle window number `number`.
  struct Span {
    uint64_t number = 0;
    uint64_t begin = 0;
    uint64_t end = 0;
  };
  // Returns the shuffle window of the chunk at `place` of the epoch's order.
  Span SpanAt(uint64_t place) const;
  Permutation WithinSpan(const Span& span) const;
  // Returns the place, in the epoch's order, of the chunk that holds window
  // number `at` before the shuffle windows are shuffled.
  uint64_t PlaceOf(uint64_t at) const;
  uint64_t ChunksPerSet() const {
    return chunks_.has_value() ? shuffle_chunks_ : 1;
  }

  uint64_t shuffle_chunks_;
  PackingOrder order_;
  std::optional<Permutation> chunks_;  // place -> chunk; none if not shuffled
  // Windows before the chunk at each place, and all windows at the end.
  std::vector<uint64_t> starts_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_PACKING_CHUNK_ORDER_H_
