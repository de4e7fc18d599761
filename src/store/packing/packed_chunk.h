// SPDX-License-Identifier: Apache-2.0
// Documents that are packed together: all of a source, or one chunk of it.

#ifndef PONIENTE_STORE_PACKING_PACKED_CHUNK_H_
#define PONIENTE_STORE_PACKING_PACKED_CHUNK_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "index/packing/window_packing.h"
#include "poniente/packing.h"
#include "poniente/selection.h"
#include "poniente/token_source.h"
#include "store/packing/length_order.h"

namespace poniente::internal {

// Thread safety: immutable; any number of threads.
struct PackedChunk {
  DocumentSpan documents;   // of the source
  uint32_t end_tokens = 0;  // of each document, which are left out
  LengthOrder order;
  WindowPacking packing;

  // Returns the places of a document that has `length` tokens in the source, in
  // the bins of the packing; none if it was not selected, or is dropped. May
  // read.
  absl::StatusOr<std::vector<PackedPlace>> BinPlacesOf(
      uint64_t document, uint64_t length, const PackingOrder& seats) const;
};

// Returns the packing of chunk number `chunk` of a source. Reads the lengths of
// its documents. REQUIRES: options.chunk_documents > 0; the chunk exists.
absl::StatusOr<WindowPacking> PackChunk(const TokenSource& source,
                                        const Selection* selection,
                                        uint32_t window_tokens,
                                        const PackingOptions& options,
                                        uint64_t chunk);

// Returns the same with the order of the chunk's documents, in memory. Reads
// their lengths twice.
absl::StatusOr<std::shared_ptr<const PackedChunk>> MakeChunk(
    const TokenSource& source, const Selection* selection,
    uint32_t window_tokens, const PackingOptions& options, uint64_t chunk);

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_PACKING_PACKED_CHUNK_H_
