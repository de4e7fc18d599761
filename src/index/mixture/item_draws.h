// SPDX-License-Identifier: Apache-2.0
// Which place of which epoch a draw of one component reads, and which part of
// the item there, before the order of the epoch is applied (docs/index-math.md
// 2.4 and 2.7).
//
// Draw n of a finite component of Q items is place n mod Q of epoch n / Q. If
// samples are shorter than items (a schedule of sequence lengths), an item has
// r parts, and draws take the places in groups of G: the G * r parts of a group
// come in a keyed order. A change of r continues with the next group, so
// nothing is read twice in an epoch and less than a group is skipped. Another
// view of the component (a filter with another threshold) begins a new epoch,
// unless it has the same data in the same sets (ItemSets: packed windows of
// another length): it then continues the epoch with the first set that has not
// been begun (2.8).

#ifndef PONIENTE_INDEX_MIXTURE_ITEM_DRAWS_H_
#define PONIENTE_INDEX_MIXTURE_ITEM_DRAWS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "index/int128.h"
#include "index/keyed_hash.h"
#include "index/selection/omissions.h"
#include "poniente/extend/index_map.h"
#include "poniente/extend/item_sets.h"
#include "poniente/mixture_plan.h"
#include "poniente/permutation.h"

namespace poniente::internal {

// How items are cut into samples, from some draw on.
struct ItemParts {
  // Samples per item. At least 1.
  uint32_t count = 1;
  // Tokens of a sample; kWholeItem if the item is taken whole.
  uint32_t length = kWholeItem;
  // One sample per item for every length: a change of length skips nothing.
  bool is_trimmed = false;
  // Tokens that a part shares with the next; below `length`.
  uint32_t overlap = 0;

  // Returns the first token of a part. REQUIRES: length is not kWholeItem.
  uint32_t BeginOf(uint32_t part) const { return part * (length - overlap); }

  friend bool operator==(const ItemParts&, const ItemParts&) = default;
};

// The parts of items from sample `start` on.
struct PartsChange {
  uint64_t start = 0;
  ItemParts parts;
};

// Returns the parts that MixtureOptions asks for.
std::vector<PartsChange> PartsOf(const MixtureOptions& options,
                                 std::span<const SeqLenChange> seq_lens);

// One of the datasets that a component consists of, one after the other.
struct ItemView {
  // Items per epoch; nullopt if endless.
  std::optional<uint64_t> length;
  uint32_t number = 0;
};

// The sets of a view and of the one that continues its epoch.
struct SetChange {
  const ItemSets* from = nullptr;
  const ItemSets* to = nullptr;
};

// Returns the places of an epoch of a view that are dropped: those of `before`
// (null: none), and further ones.
using PlacesToDrop =
    std::function<absl::StatusOr<std::shared_ptr<const Omissions>>(
        uint32_t view, uint64_t epoch,
        const std::shared_ptr<const Omissions>& before)>;

// The draws of one component.
//
// Determinism: the arguments and the ordinal decide; integers only.
// Thread safety: immutable once all segments have been added.
// Complexity: O(log segments) per question, and one permutation of a group if
//     items are cut.
class ItemDraws {
 public:
  // Draws of one view whose items have the same parts; ends where the next
  // segment begins.
  struct Segment {
    uint64_t first_ordinal;
    uint64_t epoch;  // epoch that `base` lies in, or at the end of
    uint64_t base;   // place that the draws begin with
    ItemView view;
    ItemParts parts;
    uint64_t group;
    // Whether the parts of an epoch, and those before `base`, can be counted in
    // 64 bits.
    bool is_small;
    // Of a view that continues an epoch: the set that begins at `base`, and the
    // places that the view before it leaves out. Otherwise 0.
    uint64_t set = 0;
    uint64_t left_out = 0;
    // Of the rest of an epoch from which places are dropped (2.9), else null:
    // these places, and how many of the epoch's parts that are not dropped lie
    // before the first draw. `base` is then the place at which another length
    // would go on.
    std::shared_ptr<const Omissions> dropped = nullptr;
    Uint128 kept_before = 0;
    // The first draw lies behind so many of the epoch's parts.
    Uint128 parts_before = 0;
    // Follows the rest of an epoch, at its end.
    bool follows_rest = false;
  };

  struct Item {
    uint64_t epoch = 0;
    uint64_t place = 0;  // in the epoch; the index of an endless component
    uint32_t part = 0;   // below parts.count
    ItemParts parts;
    uint32_t view = 0;

    friend bool operator==(const Item&, const Item&) = default;
  };

  // Creates the draws of a component. `seed` is the mixture's and `name` the
  // component's; with the epoch they key its order. `group` is the number of
  // places that share an order of parts; 0 is the smaller of 1024 and a 16th of
  // the items, rounded up. REQUIRES: the view has an item.
  ItemDraws(uint64_t seed, std::string_view name, const ItemView& view,
            const ItemParts& parts = ItemParts(), uint64_t group = 0);

  // Uses other parts or another view from draw `first_ordinal` on. With `sets`,
  // another view continues the epoch; otherwise it begins a new one. REQUIRES:
  // first_ordinal is not below that of the previous segment; components whose
  // view changes have finite views only; with `sets`, items have one part, and
  // both views have the same number of sets.
  void Continue(uint64_t first_ordinal, const ItemView& view,
                const ItemParts& parts, const SetChange* sets = nullptr);

  // Reads the epoch in progress at draw `first_ordinal` to its end, with the
  // same view, but for the places to drop; then begins `view`, which has none
  // of them. With items of several parts, all parts of a place are dropped.
  // Between two epochs, `view` begins at once, unless `of_whole_epoch`: the
  // places are then dropped from the epoch that begins, if anything is left of
  // it. REQUIRES: as Continue(); both views are finite. Errors of `places`.
  absl::Status Drop(uint64_t first_ordinal, const ItemView& view,
                    const ItemParts& parts, const PlacesToDrop& places,
                    bool of_whole_epoch = false);

  // Returns what a draw reads. REQUIRES: ordinal < 2^63.
  Item At(uint64_t ordinal) const;

  // What consecutive draws share: their group, none of whose parts between them
  // are dropped. Draw ordinal + i, for i < count, is part number order(number +
  // i) of the group's places * parts.count parts. `order` is their permutation
  // by PartKey(), or the identity if places have one part. Part n of the group
  // is part n mod parts.count of place first_place + n / parts.count.
  struct Run {
    uint64_t epoch = 0;
    uint64_t first_place = 0;
    uint64_t places = 0;
    uint64_t number = 0;
    uint64_t count = 0;
    ItemParts parts;
    uint32_t view = 0;
  };
  Run RunAt(uint64_t ordinal) const;
  // Returns the key of the order of a group's parts.
  static uint64_t PartKey(uint64_t epoch_key, uint64_t first_place);

  // Returns whether all draws take whole items of one view, from the first item
  // of the first epoch on; At() is then one division.
  bool is_plain() const {
    const Segment& first = segments_[0];
    return segments_.size() == 1 && first.parts.count == 1 &&
           first.epoch == 0 && first.base == 0 && first.dropped == nullptr;
  }
  std::span<const Segment> segments() const { return segments_; }
  // Returns whether later draws have other parts or another view.
  bool changes() const { return segments_.size() > 1; }
  // Returns the parts of the first draws.
  const ItemParts& parts() const { return segments_[0].parts; }

  // Draws that read the item at this place of this epoch of the view, in their
  // order, each with its part.
  struct Reading {
    uint64_t ordinal;
    uint32_t part;
    ItemParts parts;
  };
  std::vector<Reading> ReadingsOf(uint32_t view, uint64_t epoch,
                                  uint64_t place) const;

  // Returns the places of an endless component that draws before `ordinal` have
  // begun, rounded up to whole groups if items are cut.
  uint64_t PlacesBefore(uint64_t ordinal) const;

  // Returns the first draw of epoch `epoch` or of a later one; nullopt if it is
  // not below 2^62.
  std::optional<uint64_t> FirstOfEpoch(uint64_t epoch) const;

  // Epochs of the view that the draws [begin, end) read from.
  struct Epochs {
    uint64_t first;
    uint64_t last;
  };
  std::optional<Epochs> EpochsBetween(uint32_t view, uint64_t begin,
                                      uint64_t end) const;

  // Returns a span that contains all positions of the view, before the order of
  // its epochs, that the draws [begin, end) read; nullopt if they read none.
  std::optional<IndexSpan> SpanBetween(uint32_t view, uint64_t begin,
                                       uint64_t end) const;

  // Returns the key to which EpochKey() adds the epoch.
  const KeyHash& key() const { return key_; }
  // Returns the key of the order of an epoch.
  uint64_t EpochKey(uint64_t epoch) const {
    return KeyHash(key_).Add(epoch).key();
  }

 private:
  // A group of places and of the parts in them.
  struct Group {
    uint64_t epoch;
    uint64_t first;  // place
    uint64_t size;
  };

  Segment MakeSegment(uint64_t first_ordinal, uint64_t epoch, uint64_t base,
                      const ItemView& view, const ItemParts& parts) const;
  // Returns the group that draw `ordinal` lies in; sets `number` to the draw's
  // number among the group's parts.
  Group GroupOf(const Segment& segment, uint64_t ordinal,
                uint64_t* number) const;
  // Does the same in words that can hold all parts of an epoch.
  template <class Word>
  static Group GroupIn(const Segment& segment, uint64_t ordinal,
                       uint64_t* number);
  uint64_t EndOf(size_t segment) const;
  // The same for the rest of an epoch from which places are dropped.
  Group GroupOfRest(const Segment& segment, uint64_t ordinal,
                    uint64_t* number) const;
  // Returns the order of the parts of the group that begins at place `first`.
  static Permutation PartOrder(uint64_t epoch_key, uint64_t first,
                               uint64_t parts);
  // Returns the group of a place.
  static Group GroupAt(const Segment& segment, uint64_t place);
  // Returns how many parts of the places before `place` are not dropped.
  static Uint128 KeptBefore(const Segment& segment, uint64_t place);
  // Returns how many of the first `number` parts of the group are not dropped.
  uint64_t KeptNumbers(const Segment& segment, const Group& group,
                       uint64_t number) const;
  // Returns the numbers of the parts of a group that are dropped, ascending.
  // REQUIRES: items have several parts.
  // Each thread keeps those of the last few groups; they stay valid until its
  // next call.
  const std::vector<uint64_t>& DroppedNumbers(const Segment& segment,
                                              const Group& group) const;
  void AddReadingsOfRest(size_t u, uint64_t epoch, uint64_t place,
                         std::vector<Reading>* readings) const;
  // Adds the rest of an epoch, unless nothing is left of it, and what follows.
  void AddRest(Segment rest, const ItemView& next);
  // Where a draw would be, had the last segment no end.
  struct Reached {
    uint64_t epoch;
    uint64_t behind;       // place behind the group touched last
    Uint128 parts_before;  // parts of the epoch that have been passed
  };
  Reached ReachedAt(uint64_t ordinal) const;
  // Takes away a last segment that follows the rest of an epoch, if that rest
  // has not been read at draw `ordinal`; returns its view.
  std::optional<ItemView> TakeFollowing(uint64_t ordinal);
  void Push(Segment next);
  // The places [first, end) of an endless component that a draw may read.
  struct Places {
    uint64_t first;
    uint64_t end;
  };
  Places PlacesOf(uint64_t ordinal) const;
  const Segment& SegmentOf(uint64_t ordinal) const;

  KeyHash key_;
  uint64_t stated_group_;
  std::vector<Segment> segments_;
};

// Tokens [begin, begin + length) of an item; kWholeItem stands for all of it.
struct TokenPart {
  uint32_t begin = 0;
  uint32_t length = kWholeItem;
};

inline TokenPart TokensOf(const ItemParts& parts, uint32_t part) {
  if (parts.length == kWholeItem) return {};
  return {parts.BeginOf(part), parts.length};
}

// Sets the part of `below` for a `position` that reads from `part` of an item:
// all of `part`, or only the tokens of it that the position asks for.
inline void TakePart(const TokenPart& part, const Position& position,
                     Position* below) {
  below->part_begin = position.part_begin + part.begin;
  below->part_length = position.part_length;
  if (part.length != kWholeItem && position.part_length == kWholeItem) {
    below->part_length = part.length - position.part_begin;
  }
}

// Returns whether the tokens that `below` asks for lie within the part that the
// reading reads.
bool HoldsPart(const ItemDraws::Reading& reading, const Position& below);

// Inverts TakePart(). REQUIRES: HoldsPart().
Position WithoutPart(const ItemDraws::Reading& reading, Position below);

FoundPart FoundAt(const Position& position, const ItemDraws::Reading& reading);

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_MIXTURE_ITEM_DRAWS_H_
