// SPDX-License-Identifier: Apache-2.0
// The order of a dataset's items within one epoch, of any kind, computed and
// not stored (docs/index-math.md 3).
//
// Eras: era j is items [j * E, (j + 1) * E), permuted among themselves. Blocks:
// Q chunks of c <= length items, the last one padded. Place v of the padded
// items is item v mod c of chunk P1(v / c). Window w is W * c consecutive
// places, permuted by P_w. A result in the padding is mapped again until it is
// an item. This walk along the cycle keeps the map a bijection; fewer than two
// passes are expected.

#ifndef PONIENTE_INDEX_PERMUTATION_ITEM_ORDER_H_
#define PONIENTE_INDEX_PERMUTATION_ITEM_ORDER_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/permutation.h"
#include "poniente/shuffle.h"

namespace poniente::internal {

// ShuffleOptions with all sizes in items, each at least 1.
struct OrderSpec {
  ShuffleKind kind = ShuffleKind::kFull;
  uint64_t era_items = 1;
  uint64_t chunk_items = 1;
  uint64_t window_chunks = 1;

  friend bool operator==(const OrderSpec&, const OrderSpec&) = default;
};

// Resolves the options to sizes in items. `item_tokens` is the number of tokens
// in each item, 0 if items differ or are not tokens. InvalidArgument for a size
// of 0, for chunks stated both in tokens and in items, and for chunks stated in
// tokens if item_tokens is 0.
absl::StatusOr<OrderSpec> ResolveShuffle(const ShuffleOptions& options,
                                         uint32_t item_tokens);

// Returns InvalidArgument if `length` items are too many for the order: more
// than 2^63, for blocks after padding to whole chunks. No items at all are
// allowed. REQUIRES: no size in spec is 0.
absl::Status CheckOrder(const OrderSpec& spec, uint64_t length);

// Returns the fingerprint of the kind and its sizes; 0 for kFull.
uint64_t OrderFingerprint(const OrderSpec& spec);

// How an order divides its places, whatever its key.
struct OrderShape {
  // REQUIRES: items >= 1, and CheckOrder(spec, items) is ok.
  OrderShape(uint64_t items, const OrderSpec& spec);

  // Returns the key of era (kEras) or window (kBlocks) `number` of an order
  // with the key `key`.
  static uint64_t PartKey(ShuffleKind kind, uint64_t key, uint64_t number);
  // Returns the key of the order of the chunks.
  static uint64_t ChunksKey(uint64_t key);

  ShuffleKind kind;
  uint64_t length;
  uint64_t chunks;       // 1 for all kinds except kBlocks
  uint64_t chunk_items;  // 1 for all kinds except kBlocks
  uint64_t part_items;   // of an era or a window; the last may be shorter
  uint64_t places;       // kBlocks: the padded length, else the length
};

// A bijection on [0, length), chosen by a key.
//
// Determinism: length, key, spec and the index decide, on every machine.
// Thread safety: immutable; any number of threads.
// Complexity: O(1) for every length; creating one costs as much as a
//     Permutation. kEras and kBlocks create one more Permutation for each index
//     or, in a call for many, for each run of indices in one era or window. No
//     heap memory.
// Errors: an argument out of range is a bug of the caller and aborts.
class ItemOrder {
 public:
  // Creates the order. REQUIRES: length >= 1, and CheckOrder(spec, length) is
  // ok.
  ItemOrder(uint64_t length, uint64_t key, const OrderSpec& spec);

  uint64_t length() const { return shape_.length; }

  // Returns the item at place `index` of the order. REQUIRES: index < length().
  uint64_t Forward(uint64_t index) const;
  // Returns the place of an item. REQUIRES: item < length().
  uint64_t Inverse(uint64_t item) const;

  // Map each entry of `in`. REQUIRES: out.size() == in.size(), and the two are
  // the same span or do not overlap.
  void Forward(std::span<const uint64_t> in, std::span<uint64_t> out) const;
  void Inverse(std::span<const uint64_t> in, std::span<uint64_t> out) const;

 private:
  // Places that are permuted among themselves: an era or a window.
  struct Part {
    uint64_t begin;
    uint64_t size;
    uint64_t key;
  };

  // Returns the era or window of a place. REQUIRES: kind is kEras or kBlocks,
  // place < places_.
  Part PartAt(uint64_t place) const;
  // Permutes each place within its part.
  void PermuteParts(std::span<const uint64_t> in,
                    std::span<uint64_t> out) const;
  // Replaces each place of the chunks' order by the item there, or by padding.
  void LookUpChunks(std::span<uint64_t> places) const;

  // Maps a place of the padded items once, without the walk.
  uint64_t PassForward(uint64_t place) const;
  uint64_t PassInverse(uint64_t item) const;

  OrderShape shape_;
  uint64_t key_;
  Permutation order_;  // kFull: of the items; kBlocks: of the chunks
};

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_PERMUTATION_ITEM_ORDER_H_
