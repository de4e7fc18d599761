// SPDX-License-Identifier: Apache-2.0
// The documents file of a store: where each document ends, and its name.

#ifndef PONIENTE_STORE_READ_DOCUMENT_INDEX_H_
#define PONIENTE_STORE_READ_DOCUMENT_INDEX_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/token_store.h"
#include "store/manifest/manifest.h"
#include "store/read/side_file.h"

namespace poniente::internal {

// Reads on demand. Everything read is checked against its neighbours and
// bounds, so a damaged file results in DataLoss and never in a range outside of
// the store.
//
// Thread safety: any number of threads.
class DocumentIndex {
 public:
  DocumentIndex(SideFile file, const StoreManifest& manifest)
      : file_(std::move(file)),
        documents_(manifest.documents),
        tokens_(manifest.tokens),
        name_bytes_(manifest.name_bytes) {}

  // The calls of TokenStore.
  absl::StatusOr<TokenRange> Range(uint64_t document) const;
  absl::StatusOr<std::vector<uint64_t>> Bounds(uint64_t first,
                                               uint64_t count) const;
  absl::StatusOr<std::string> Name(uint64_t document) const;
  absl::StatusOr<uint64_t> At(uint64_t token) const;
  absl::StatusOr<std::vector<ItemPiece>> Pieces(uint64_t begin,
                                                uint64_t end) const;

 private:
  // Documents from `first` on, by their ends.
  struct Ends {
    uint64_t first = 0;
    std::vector<uint64_t> ends;
  };
  // Returns the ends from the document that contains the token on, as far as
  // the search has read.
  absl::StatusOr<Ends> EndsFrom(uint64_t token) const;
  // Returns where a document ends. Reads it only once if it is one of the first
  // middles of a search. These form a tree: node 1 is the middle of all
  // documents, nodes 2k and 2k + 1 are those of the halves of node k.
  absl::StatusOr<uint64_t> MiddleEnd(uint64_t node, uint64_t document) const;
  absl::Status CheckDocument(uint64_t document) const;
  // Reads `count` u64 from number `first` on.
  absl::StatusOr<std::vector<uint64_t>> Words(uint64_t first,
                                              uint64_t count) const;
  // Returns range number `i` of a list of ends that starts at word `base` and
  // must reach `total`.
  absl::StatusOr<TokenRange> Between(uint64_t base, uint64_t i, uint64_t total,
                                     const char* what) const;
  absl::Status Disordered(const char* what, uint64_t i, uint64_t value,
                          uint64_t least, uint64_t most) const;

  const SideFile file_;
  const uint64_t documents_;
  const uint64_t tokens_;
  const uint64_t name_bytes_;
  // By node: end + 1, or 0 if it has not been read. At most 32 KiB, allocated
  // by the first search.
  mutable std::once_flag middles_made_;
  mutable std::vector<std::atomic<uint64_t>> middles_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_READ_DOCUMENT_INDEX_H_
