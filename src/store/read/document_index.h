// SPDX-License-Identifier: Apache-2.0
// The documents file of a store: where each document ends, and its name.

#ifndef PONIENTE_STORE_READ_DOCUMENT_INDEX_H_
#define PONIENTE_STORE_READ_DOCUMENT_INDEX_H_

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/token_store.h"
#include "store/manifest/manifest.h"
#include "store/read/kept_ends.h"
#include "store/read/side_file.h"

namespace poniente::internal {

// Reads on demand; look-ups by token keep the ends in memory (kept_ends.h).
// Everything read is checked against its neighbours and bounds, so a damaged
// file results in DataLoss and never in a range outside of the store.
//
// Thread safety: any number of threads.
class DocumentIndex {
 public:
  DocumentIndex(SideFile file, const StoreManifest& manifest)
      : file_(std::move(file)),
        documents_(manifest.documents),
        tokens_(manifest.tokens),
        name_bytes_(manifest.name_bytes),
        ends_(file_, documents_, tokens_) {}

  // Implement the calls of TokenStore.
  absl::StatusOr<TokenRange> Range(uint64_t document) const;
  // Does the same for many, and keeps what it reads (kept_ends.h).
  absl::Status KeptRanges(std::span<const uint64_t> documents,
                          std::span<TokenRange> ranges) const;
  // Returns whether KeptRanges() would not read.
  bool IsInMemory(uint64_t document) const {
    return document >= documents_ || ends_.IsInMemory(document);
  }
  absl::StatusOr<std::vector<uint64_t>> Bounds(uint64_t first,
                                               uint64_t count) const;
  absl::StatusOr<std::string> Name(uint64_t document) const;
  absl::StatusOr<uint64_t> At(uint64_t token) const;
  absl::StatusOr<std::vector<ItemPiece>> Pieces(uint64_t begin,
                                                uint64_t end) const;
  // Returns whether Pieces() would not read.
  bool HasPiecesInMemory(uint64_t begin, uint64_t end) const {
    return ends_.AreInMemory(begin, end);
  }

 private:
  // The ends of documents from `first` on.
  struct Ends {
    uint64_t first = 0;
    std::vector<uint64_t> ends;
  };
  // Looks up without keeping: returns the ends from the document that contains
  // the token on, as far as the search has read. `segment` contains the token.
  absl::StatusOr<Ends> EndsFrom(uint64_t token, uint64_t segment) const;
  // Appends the pieces of tokens [begin, end) by such a look-up.
  absl::Status ScanPieces(uint64_t begin, uint64_t end, uint64_t segment,
                          std::vector<ItemPiece>* pieces) const;
  absl::Status CheckDocument(uint64_t document) const;
  absl::StatusOr<TokenRange> KeptRange(uint64_t document) const;
  // Returns range number `i` of a list of ends that starts at word `base` and
  // must reach `total`.
  absl::StatusOr<TokenRange> Between(uint64_t base, uint64_t i, uint64_t total,
                                     const char* what) const;

  const SideFile file_;
  const uint64_t documents_;
  const uint64_t tokens_;
  const uint64_t name_bytes_;
  const KeptEnds ends_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_READ_DOCUMENT_INDEX_H_
