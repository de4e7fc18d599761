// SPDX-License-Identifier: Apache-2.0
// The concatenation of the selected documents of a store: maps its tokens to
// the store's.

#ifndef PONIENTE_STORE_READ_SELECTED_TOKENS_H_
#define PONIENTE_STORE_READ_SELECTED_TOKENS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/selection.h"
#include "poniente/token_source.h"

namespace poniente::internal {

// Keeps the number of tokens before every `stride`-th selected document. Reads
// the lengths of the others from the store's document index when they are
// needed.
//
// Thread safety: immutable; any number of threads. Reads block.
// Complexity: memory as for Selection, and a quarter of a bit per document of
//     the store. A look-up is a binary search, and a scan over about 256
//     documents of the store (one pread), or over fewer documents that are far
//     apart.
// Errors: DataLoss if the document index is damaged.
class SelectedTokens {
 public:
  // Reads the lengths of all selected documents. InvalidArgument unless the
  // selection has as many items as the store has documents.
  static absl::StatusOr<SelectedTokens> Create(const TokenSource& store,
                                               Selection selection);

  const Selection& selection() const { return selection_; }
  // Returns the number of tokens in all selected documents.
  uint64_t total() const { return total_; }

  // Returns the memory used, without that of the selection.
  uint64_t memory_bytes() const { return 8 * samples_.capacity(); }

  // Returns the pieces of documents that tokens [begin, end) of the
  // concatenation consist of. REQUIRES: `store` is that of Create(); begin <=
  // end <= total().
  absl::StatusOr<std::vector<ItemPiece>> Pieces(const TokenSource& store,
                                                uint64_t begin,
                                                uint64_t end) const;

  // Where a document begins in the concatenation, and its tokens in the store.
  struct DocumentLocation {
    uint64_t offset = 0;
    TokenRange tokens;
  };
  // Returns the location of a document; nullopt if it is not selected.
  absl::StatusOr<std::optional<DocumentLocation>> Find(const TokenSource& store,
                                                       uint64_t document) const;

 private:
  SelectedTokens(Selection selection, uint64_t stride)
      : selection_(std::move(selection)), stride_(stride) {}

  // Visits one document. Returns false to end the scan.
  using Visit = std::function<bool(uint64_t document, TokenRange tokens)>;
  // Visits the selected documents from place `place` on, in order, reading up
  // to `most` document ends at a time.
  absl::Status Scan(const TokenSource& store, uint64_t place, uint64_t most,
                    const Visit& visit) const;

  Selection selection_;
  uint64_t stride_;
  // Tokens before the selected documents at places 0, stride, 2 stride, ...
  std::vector<uint64_t> samples_;
  uint64_t total_ = 0;
};

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_READ_SELECTED_TOKENS_H_
