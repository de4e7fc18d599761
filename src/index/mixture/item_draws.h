// SPDX-License-Identifier: Apache-2.0
// Which item, of which epoch, and which part of it a draw of one component
// reads: the place in the component's order, before that order is applied.
//
// Draw n of a finite component of Q items is place n mod Q of epoch n / Q.
// Where samples are shorter than items (a schedule of sequence lengths), an
// item holds r parts, and the draws run through the places in groups of G: the
// G * r parts of a group come in a keyed order. A change of r goes on with the
// next group, so nothing is read twice in an epoch and less than a group is
// skipped. Another view of the component (a filter with another threshold)
// begins a new epoch.

#ifndef PONIENTE_INDEX_MIXTURE_ITEM_DRAWS_H_
#define PONIENTE_INDEX_MIXTURE_ITEM_DRAWS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "index/keyed_hash.h"
#include "poniente/extend/index_map.h"
#include "poniente/mixture_plan.h"

namespace poniente::internal {

// How items are cut into samples from some draw on.
struct ItemParts {
  // Samples per item. At least 1.
  uint32_t count = 1;
  // Of a sample, in tokens; kWholeItem if the item is taken whole.
  uint32_t length = kWholeItem;
  // One sample per item, whatever the length: a change of it skips nothing.
  bool is_trimmed = false;

  friend bool operator==(const ItemParts&, const ItemParts&) = default;
};

// From sample `start` on, items are cut into these parts.
struct PartsChange {
  uint64_t start = 0;
  ItemParts parts;
};

// The parts that MixtureOptions asks for.
std::vector<PartsChange> PartsOf(const MixtureOptions& options,
                                 std::span<const SeqLenChange> seq_lens);

// One of the datasets that a component is, one after the other.
struct ItemView {
  // Items per epoch; nullopt if endless.
  std::optional<uint64_t> length;
  uint32_t number = 0;
};

// Determinism: what it was made from and the ordinal decide; integers only.
// Thread safety: immutable once all segments have been added.
// Complexity: O(log segments) per question, and one permutation of a group
//     where items are cut.
class ItemDraws {
 public:
  // Draws of one view whose items have the same parts, up to the next segment.
  struct Segment {
    uint64_t first_ordinal;
    uint64_t epoch;  // that `base` lies in, or at the end of
    uint64_t base;   // place that the draws begin with
    ItemView view;
    ItemParts parts;
    uint64_t group;
    // 64 bits hold all parts of an epoch, and those passed before.
    bool is_small;
  };

  struct Item {
    uint64_t epoch = 0;
    uint64_t place = 0;  // in the epoch; the index of an endless component
    uint32_t part = 0;   // below parts.count
    ItemParts parts;
    uint32_t view = 0;

    friend bool operator==(const Item&, const Item&) = default;
  };

  // `seed` is the mixture's and `name` the component's: with the epoch they key
  // its order. `group`: places that share an order of parts; 0 is the least of
  // 1024 and a 16th of the items, rounded up.
  // REQUIRES: the view has an item.
  ItemDraws(uint64_t seed, std::string_view name, const ItemView& view,
            const ItemParts& parts = ItemParts(), uint64_t group = 0);

  // From draw `first_ordinal` on, other parts or another view.
  // REQUIRES: first_ordinal is not below that of the segment before; views of
  // components that change them are finite.
  void Continue(uint64_t first_ordinal, const ItemView& view,
                const ItemParts& parts);

  // REQUIRES: ordinal < 2^63.
  Item At(uint64_t ordinal) const;

  // What consecutive draws share: their group. Draw ordinal + i is part number
  // order(number + i) of the group's places * parts.count parts, for i < count;
  // `order` is the permutation of these by PartKey(), if there are several
  // parts per place. Part n of the group is part n mod parts.count of place
  // first_place + n / parts.count.
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
  // Keys the order of a group's parts.
  static uint64_t PartKey(uint64_t epoch_key, uint64_t first_place);

  // All draws take whole items of one view: At() is one division.
  bool is_plain() const {
    return segments_.size() == 1 && segments_[0].parts.count == 1;
  }
  std::span<const Segment> segments() const { return segments_; }
  // Parts or view are others for later draws.
  bool changes() const { return segments_.size() > 1; }
  // Brings what At() and RunAt() read into the caches.
  void Prefetch() const { __builtin_prefetch(segments_.data()); }
  // Those that draws begin with.
  const ItemParts& parts() const { return segments_[0].parts; }

  // The draws that read the item at this place of this epoch of the view, in
  // their order, each with its part.
  struct Reading {
    uint64_t ordinal;
    uint32_t part;
    ItemParts parts;
  };
  std::vector<Reading> ReadingsOf(uint32_t view, uint64_t epoch,
                                  uint64_t place) const;

  // Of an endless component: the places that draws before `ordinal` have begun,
  // rounded up to whole groups where items are cut.
  uint64_t PlacesBefore(uint64_t ordinal) const;

  // The first draw of epoch `epoch` or of one after it; nullopt if it is not
  // below 2^62.
  std::optional<uint64_t> FirstOfEpoch(uint64_t epoch) const;

  // Epochs of the view that the draws [begin, end) read from.
  struct Epochs {
    uint64_t first;
    uint64_t last;
  };
  std::optional<Epochs> EpochsBetween(uint32_t view, uint64_t begin,
                                      uint64_t end) const;

  // Positions of the view, before the order of its epochs, that the draws
  // [begin, end) may read, at least those; nullopt for none.
  std::optional<IndexSpan> SpanBetween(uint32_t view, uint64_t begin,
                                       uint64_t end) const;

  // Add an epoch for its EpochKey().
  const KeyHash& key() const { return key_; }
  // Keys the order of an epoch.
  uint64_t EpochKey(uint64_t epoch) const {
    return KeyHash(key_).Add(epoch).key();
  }

 private:
  // A group of places and the parts in it.
  struct Group {
    uint64_t epoch;
    uint64_t first;  // place
    uint64_t size;
  };

  Segment MakeSegment(uint64_t first_ordinal, uint64_t epoch, uint64_t base,
                      const ItemView& view, const ItemParts& parts) const;
  // The group that draw `ordinal` lies in, and its number among the group's
  // parts.
  Group GroupOf(const Segment& segment, uint64_t ordinal,
                uint64_t* number) const;
  // The same in words that hold all parts of an epoch.
  template <class Word>
  static Group GroupIn(const Segment& segment, uint64_t ordinal,
                       uint64_t* number);
  uint64_t EndOf(size_t segment) const;
  // Of an endless component: the places that a draw may read, [first, end).
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

// Tokens [begin, begin + length) of an item; kWholeItem is all of it.
struct TokenPart {
  uint32_t begin = 0;
  uint32_t length = kWholeItem;
};

inline TokenPart TokensOf(const ItemParts& parts, uint32_t part) {
  if (parts.length == kWholeItem) return {};
  return {part * parts.length, parts.length};
}

// Sets the part of `below` that `position` reads of an item of which it is
// `part`: all of that, or the part of it which the position itself names.
inline void TakePart(const TokenPart& part, const Position& position,
                     Position* below) {
  below->part_begin = position.part_begin + part.begin;
  below->part_length = position.part_length;
  if (part.length != kWholeItem && position.part_length == kWholeItem) {
    below->part_length = part.length - position.part_begin;
  }
}

// `below` reads nothing beyond what the reading does.
bool HoldsPart(const ItemDraws::Reading& reading, const Position& below);

// The way back from TakePart(). REQUIRES: HoldsPart().
Position WithoutPart(const ItemDraws::Reading& reading, Position below);

FoundPart FoundAt(const Position& position, const ItemDraws::Reading& reading);

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_MIXTURE_ITEM_DRAWS_H_
