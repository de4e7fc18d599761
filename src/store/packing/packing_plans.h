// SPDX-License-Identifier: Apache-2.0
// Which bin of which packing each window of a source is: all documents packed
// together, or chunk by chunk.

#ifndef PONIENTE_STORE_PACKING_PACKING_PLANS_H_
#define PONIENTE_STORE_PACKING_PACKING_PLANS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "index/packing/chunk_order.h"
#include "index/packing/window_packing.h"
#include "poniente/packing.h"
#include "poniente/selection.h"
#include "poniente/token_source.h"
#include "store/packing/packed_chunk.h"

namespace poniente::internal {

// A bin of the packing of a chunk, and the order in which its documents are
// seated.
struct PackedBin {
  std::shared_ptr<const PackedChunk> chunk;
  uint64_t bin = 0;
  PackingOrder seats;
};

// Thread safety: immutable to callers; any number of threads.
// Errors: errors of reading lengths and orders; DataLoss if the source or the
//     files made of it have changed.
class PackingPlans {
 public:
  // Opens or makes what packing the documents needs (docs/packing.md).
  // `selection`: the documents that are packed; nullopt: all.
  static absl::StatusOr<std::unique_ptr<const PackingPlans>> Open(
      std::shared_ptr<const TokenSource> source, uint32_t window_tokens,
      const PackingOptions& options, std::optional<Selection> selection);
  // Opens the same for several lengths of windows, in their order. Together
  // they keep as many chunks in memory as one of them would. With an
  // index_file, the file of length L has "-L" behind its name. REQUIRES:
  // documents are packed by chunks.
  static absl::StatusOr<std::vector<std::unique_ptr<const PackingPlans>>>
  OpenEach(const std::shared_ptr<const TokenSource>& source,
           std::span<const uint32_t> lengths, const PackingOptions& options,
           const std::optional<Selection>& selection);
  virtual ~PackingPlans() = default;

  // Says that windows are served in the order of one more seed, which needs
  // chunks of its own in memory.
  virtual void AddSeed() const {}

  // Returns the order of the chunks in an epoch; null if documents are not
  // packed by chunks.
  virtual std::shared_ptr<const ChunkOrder> ChunksIn(
      const PackingOrder& order) const {
    (void)order;
    return nullptr;
  }

  virtual const PackingSummary& summary() const = 0;
  uint64_t num_windows() const { return summary().windows; }

  // Returns which bin is window `window` in an epoch's order; a null chunk if
  // that takes a read, or a plan that is not in memory, and `may_read` is
  // false. REQUIRES: window < num_windows().
  virtual absl::StatusOr<PackedBin> BinOf(uint64_t window,
                                          const PackingOrder& order,
                                          bool may_read) const = 0;
  // Sets squares[i] to WindowPacking::SquaredLengthsOfBin() of windows[i].
  // Returns false where BinOf() returns a null chunk. REQUIRES: as BinOf().
  virtual absl::StatusOr<bool> FindSquaredLengths(
      std::span<const uint64_t> windows, const PackingOrder& order,
      bool may_read, std::span<uint64_t> squares) const = 0;
  // Returns the places of a document of `length` tokens in the windows of an
  // epoch; none if it was not selected, or is dropped. May read. REQUIRES: the
  // document exists.
  virtual absl::StatusOr<std::vector<PackedPlace>> PlacesOf(
      uint64_t document, uint64_t length, const PackingOrder& order) const = 0;
};

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_PACKING_PACKING_PLANS_H_
