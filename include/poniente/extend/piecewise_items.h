// SPDX-License-Identifier: Apache-2.0
// An interface that tells which parts of documents an item consists of.

#ifndef PONIENTE_EXTEND_PIECEWISE_ITEMS_H_
#define PONIENTE_EXTEND_PIECEWISE_ITEMS_H_

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "poniente/extend/dataset_node.h"
#include "poniente/extend/index_map.h"
#include "poniente/packing.h"

namespace poniente {

// ItemPiece::document of padding, and of padding that belongs to the document
// before it, because documents are aligned.
inline constexpr uint64_t kNoDocument = UINT64_MAX;
inline constexpr uint64_t kAlignmentPadding = UINT64_MAX - 1;
// Of a piece whose document is masked: its tokens are served as padding.
inline constexpr uint64_t kMaskedDocument = UINT64_MAX - 2;

// Tokens [begin, end) of a store, all from one document; or end - begin tokens
// of padding, which lie in no store, unless they are masked.
struct ItemPiece {
  uint64_t document = 0;
  uint64_t begin = 0;
  uint64_t end = 0;

  bool is_padding() const { return document >= kMaskedDocument; }
  friend bool operator==(const ItemPiece&, const ItemPiece&) = default;
};

// Tokens [begin, end) of a store, which are tokens [item_begin, item_begin +
// end - begin) of an item.
struct PieceOfItem {
  uint64_t item = 0;
  uint32_t item_begin = 0;
  uint64_t begin = 0;
  uint64_t end = 0;

  friend bool operator==(const PieceOfItem&, const PieceOfItem&) = default;
};

// What the ends of a piece are.
struct PieceEnds {
  // Whether the piece has all tokens of its document, apart from an end that
  // packing leaves out.
  bool is_whole = true;
  // Whether its first token is the id that begins its document, and its last
  // one the id that ends it, as far as the source states such an id.
  bool begins_with_id = false;
  bool ends_with_id = false;

  friend bool operator==(const PieceEnds&, const PieceEnds&) = default;
};

// Implemented by leaves whose items hold parts of several documents of one
// store, and whose documents may be cut into several items. The answers are the
// same in every epoch unless changes_with_epoch().
//
// Thread safety: any number of threads. Calls may read, and block meanwhile.
// Errors: OutOfRange for an item or document that does not exist; errors of the
//     reads.
class PiecewiseItems {
 public:
  virtual ~PiecewiseItems() = default;

  // Returns the pieces of the item, or of the part that `position` asks for: in
  // order, without gaps, none empty.
  virtual absl::StatusOr<std::vector<ItemPiece>> Pieces(
      const Position& position) const = 0;

  // Returns whether Pieces() would answer from memory now, without a read. If
  // not, loaders call it on another thread.
  virtual bool HasPiecesInMemory(const Position& position) const {
    (void)position;
    return false;
  }
  // Sets `pieces` to the answer of Pieces() if that takes no read. Returns
  // whether it does not.
  virtual absl::StatusOr<bool> FindInMemory(
      const Position& position, std::vector<ItemPiece>* pieces) const {
    if (!HasPiecesInMemory(position)) return false;
    absl::StatusOr<std::vector<ItemPiece>> found = Pieces(position);
    if (!found.ok()) return found.status();
    *pieces = *std::move(found);
    return true;
  }

  // Returns the id that stands in padding. Those of stores: the id that ends
  // documents, or 0.
  virtual uint32_t padding_id() const { return 0; }

  // Returns whether items share tokens: the last of one item may be the first
  // of another.
  virtual bool items_overlap() const { return false; }

  // Sets `goes_on` to whether the document of `piece`, the last piece of an
  // item, has tokens behind it in the source: token piece.end is then the next.
  // Returns false if that takes a read and `may_read` is false. Default: it has
  // none.
  virtual absl::StatusOr<bool> FindGoesOn(const ItemPiece& piece, bool may_read,
                                          bool* goes_on) const {
    (void)piece, (void)may_read;
    *goes_on = false;
    return true;
  }

  // Sets `ends` to what the ends of `piece` are, which is no padding. Returns
  // false if that takes a read and `may_read` is false. Default: a whole
  // document without such ids.
  virtual absl::StatusOr<bool> FindEnds(const ItemPiece& piece, bool may_read,
                                        PieceEnds* ends) const {
    (void)piece, (void)may_read;
    *ends = PieceEnds();
    return true;
  }

  // Returns where the tokens of a document are served, in order; empty if the
  // document was not selected, or lies in the tail that fills no item.
  virtual absl::StatusOr<std::vector<PieceOfItem>> ItemsOf(
      uint64_t document) const = 0;

  // Returns the items that have a token of one of these documents; some may
  // come twice. REQUIRES: !changes_with_epoch().
  virtual absl::StatusOr<std::vector<uint64_t>> ItemsOfEach(
      std::span<const uint64_t> documents) const {
    std::vector<uint64_t> items;
    for (const uint64_t document : documents) {
      absl::StatusOr<std::vector<PieceOfItem>> parts = ItemsOf(document);
      if (!parts.ok()) return parts.status();
      for (const PieceOfItem& part : *parts) items.push_back(part.item);
    }
    return items;
  }

  // Returns where the tokens of a document are served in one epoch.
  virtual absl::StatusOr<std::vector<PieceOfItem>> ItemsIn(
      uint64_t document, uint64_t epoch) const {
    (void)epoch;
    return ItemsOf(document);
  }
  // Returns whether each epoch has other items: ItemsOf() is then the answer
  // for epoch 0.
  virtual bool changes_with_epoch() const { return false; }
};

// Returns null unless `node` implements PiecewiseItems.
inline const PiecewiseItems* PiecesOf(const DatasetNode& node) {
  return dynamic_cast<const PiecewiseItems*>(&node);
}

// Implemented by datasets whose items are windows of packed documents.
class PackedItems {
 public:
  virtual ~PackedItems() = default;

  virtual const PackingSummary& packing_summary() const = 0;
  // Returns the options that it was made with; null if it has none.
  virtual const PackingOptions* packing_options() const { return nullptr; }
  // Returns the number of tokens of which each piece, with the padding behind
  // it, is a multiple.
  virtual uint32_t align() const { return 1; }
  // Sets squares[i] to the sum of the squared lengths of the pieces of item
  // positions[i], each with its padding up to a multiple of `align`: what
  // attention inside of documents costs. Reads nothing, unless documents are
  // packed by chunks: then it may read the lengths of a chunk. Returns false if
  // it would have to and `may_read` is false; loaders then call it on another
  // thread. OutOfRange for an item that does not exist; errors of the reads.
  virtual absl::StatusOr<bool> FindSquaredLengths(
      std::span<const Position> positions, bool may_read,
      std::span<uint64_t> squares) const = 0;
};

// Returns null unless `node` implements PackedItems.
inline const PackedItems* PackedItemsOf(const DatasetNode& node) {
  return dynamic_cast<const PackedItems*>(&node);
}

}  // namespace poniente

#endif  // PONIENTE_EXTEND_PIECEWISE_ITEMS_H_
