// SPDX-License-Identifier: Apache-2.0
// A table of the data that the draws of all components need, in few and
// adjacent places of memory.
//
// A block of a mixture of a thousand components has a draw or two of each.
// ItemDraws, views and orders of a component lie in several places, which are
// seldom in the caches. Here, a component whose items are taken whole in a full
// shuffle takes one cache line; cuts, and eras or windows, take one more each.

#ifndef PONIENTE_INDEX_MIXTURE_DRAW_TABLE_H_
#define PONIENTE_INDEX_MIXTURE_DRAW_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "index/keyed_hash.h"
#include "index/mixture/divisor.h"
#include "index/mixture/item_draws.h"
#include "index/permutation/item_order.h"

namespace poniente::internal {

// Immutable once all components have been added.
class DrawTable {
 public:
  // How the places of an epoch become items.
  enum class Order : uint8_t {
    kStored,  // they are the items
    kNarrow,  // a full shuffle; PermutationKernel::IsOfEach()
    kWide,    // a full shuffle of more items than that
    kParts,   // eras, or windows of chunks
  };

  // One segment of a component's draws (ItemDraws::Segment).
  struct alignas(64) Segment {
    KeyHash key = KeyHash(0);  // add the epoch
    // Draw n is part n + offset (mod 2^64), counted from the beginning of
    // `epoch` on.
    uint64_t offset = 0;
    uint64_t end = 0;  // the first draw behind it
    uint64_t epoch = 0;
    Divisor per_epoch;   // parts
    uint32_t parts = 0;  // of an item; 0: the table does not have these draws
    uint32_t part_length = kWholeItem;
    uint32_t child = 0;
    Order order = Order::kStored;
  };
  // Further data of segments whose items have several parts.
  struct alignas(64) Cut {
    Divisor per_group;  // parts
    Divisor per_item;   // parts
    uint64_t group = 0;
    uint64_t length = 0;       // places of an epoch
    uint32_t part_stride = 0;  // tokens from one part of an item to the next
  };
  // Further data of segments of order kParts; see OrderShape.
  struct alignas(64) Parts {
    Divisor part_items;
    Divisor chunk_items;
    uint64_t places = 0;
    uint64_t chunks = 0;
    uint64_t window_chunks = 0;
    uint64_t length = 0;
    bool is_eras = false;

    OrderSpec spec() const;
  };

  // Makes room for that many components.
  void Reserve(size_t components);
  // Adds the next component; its views have these orders and children.
  void Add(const ItemDraws& draws, std::span<const OrderSpec> orders,
           std::span<const uint32_t> children);

  // Returns the number of the segment that the draw lies in.
  size_t NumberOf(uint32_t component, uint64_t ordinal) const {
    if (!changes_) return component;
    return NumberAmongSeveral(component, ordinal);
  }
  const Segment& segment(size_t number) const { return segments_[number]; }
  // REQUIRES: parts > 1.
  const Cut& cut(size_t number) const { return cuts_[number]; }
  // REQUIRES: order == kParts.
  const Parts& parts(size_t number) const { return parts_[number]; }

  // Returns the places of an epoch. REQUIRES: they are finite.
  uint64_t LengthOf(size_t number) const {
    const Segment& segment = segments_[number];
    return segment.parts == 1 ? segment.per_epoch.value()
                              : cuts_[number].length;
  }

 private:
  size_t NumberAmongSeveral(uint32_t component, uint64_t ordinal) const;
  void AddSegment(const ItemDraws& draws, size_t u, const OrderSpec& order,
                  uint32_t child);

  std::vector<Segment> segments_;
  std::vector<Cut> cuts_;        // by segment; shorter if the last have none
  std::vector<Parts> parts_;     // by segment; shorter if the last have none
  std::vector<uint64_t> ends_;   // Segment::end
  std::vector<uint32_t> first_;  // the first segment of each component
  bool changes_ = false;         // some component has several segments
};

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_MIXTURE_DRAW_TABLE_H_
