// SPDX-License-Identifier: Apache-2.0
// The concatenation of the documents of a store in the order of a score: maps
// its tokens to the store's.

#ifndef PONIENTE_STORE_READ_ORDERED_TOKENS_H_
#define PONIENTE_STORE_READ_ORDERED_TOKENS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/score_order.h"
#include "poniente/selection.h"
#include "poniente/token_source.h"
#include "store/read/selected_tokens.h"

namespace poniente::internal {

// Keeps the number of tokens before every kBlock-th document. Reads the lengths
// of the others from the store's document index when they are needed.
//
// Thread safety: immutable; any number of threads. Reads block.
// Complexity: memory as for ScoreOrder, half a byte per document that is
//     served, and 1.05 bits per document of the store if some are left out. A
//     look-up is a binary search, and reads the lengths of kBlock documents;
//     for pieces, those of kBlock documents at either end of them, and of all
//     between. Documents that are neighbours here lie anywhere in the store, so
//     each length may be a pread, unless the store keeps them in memory.
// Errors: DataLoss if the document index, or the file of the order, is damaged.
class OrderedTokens {
 public:
  // Documents per sample. A sample takes 64 bits.
  static constexpr size_t kBlock = 16;

  // Reads the lengths of all documents that are served, in stored order.
  // `selection`: null for all documents. InvalidArgument unless order and
  // selection have as many items as the store has documents.
  static absl::StatusOr<OrderedTokens> Create(const TokenSource& store,
                                              ScoreOrder order,
                                              const Selection* selection);

  // Returns the number of tokens in all documents that are served.
  uint64_t total() const { return total_; }
  // Returns the fingerprint of the order and of the selection.
  uint64_t fingerprint() const { return fingerprint_; }
  // Returns the memory used, without that of the order.
  uint64_t memory_bytes() const;

  // Sets `pieces` to the pieces of documents that tokens [begin, end) of the
  // concatenation consist of. Returns false if that takes a read of the
  // document index and `may_read` is false. REQUIRES: `store` is that of
  // Create(); begin <= end <= total().
  absl::StatusOr<bool> FindPieces(const TokenSource& store, uint64_t begin,
                                  uint64_t end, bool may_read,
                                  std::vector<ItemPiece>* pieces) const;

  // Returns the location of a document; nullopt if it is not selected.
  // REQUIRES: `store` is that of Create() and has this document.
  absl::StatusOr<std::optional<SelectedTokens::DocumentLocation>> Find(
      const TokenSource& store, uint64_t document) const;

 private:
  // Documents that follow one another here, with their tokens in the store.
  struct Block {
    size_t size = 0;
    std::array<uint64_t, kBlock> documents;
    std::array<TokenRange, kBlock> tokens;
  };

  explicit OrderedTokens(ScoreOrder order) : order_(std::move(order)) {}

  // Fills in places_: those of the selected documents.
  absl::Status Choose(const Selection& selection);
  // Fills in samples_ and total_.
  absl::Status Measure(const TokenSource& store, const Selection* selection);
  // Adds the lengths of `documents`, which lie in [first, first +
  // bounds.size() - 1), each to the sample of its block. Overwrites
  // `documents`.
  absl::Status AddLengths(std::span<uint64_t> documents, uint64_t first,
                          std::span<const uint64_t> bounds);
  // Returns the number of documents that are served.
  uint64_t count() const {
    return places_.has_value() ? places_->count() : order_.size();
  }
  // Returns where block `block` ends in the concatenation.
  uint64_t EndOf(uint64_t block) const {
    return block + 1 < samples_.size() ? samples_[block + 1] : total_;
  }
  // Reads a block. Returns false if that takes a read and must not.
  absl::StatusOr<bool> Read(const TokenSource& store, uint64_t number,
                            bool may_read, Block* block) const;

  ScoreOrder order_;
  // Of the places of the order, those whose documents are served; nullopt: all.
  std::optional<Selection> places_;
  // Tokens before documents 0, kBlock, 2 kBlock, ... of the concatenation.
  std::vector<uint64_t> samples_;
  uint64_t total_ = 0;
  uint64_t fingerprint_ = 0;
};

}  // namespace poniente::internal

#endif  // PONIENTE_STORE_READ_ORDERED_TOKENS_H_
