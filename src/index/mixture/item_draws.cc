// SPDX-License-Identifier: Apache-2.0
#include "index/mixture/item_draws.h"

#include <algorithm>
#include <cstddef>

#include "index/int128.h"
#include "index/max_samples.h"
#include "index/part_at.h"
#include "poniente/permutation.h"
#include "util/check.h"

namespace poniente::internal {
namespace {

// Groups without `group_items`: 1024 items, or fewer, so that an epoch has at
// least 16 groups (docs/index-math.md 2.7).
constexpr uint64_t kDefaultGroup = 1024;
constexpr uint64_t kLeastGroups = 16;

uint64_t Low(Uint128 value) { return static_cast<uint64_t>(value); }

}  // namespace

std::vector<PartsChange> PartsOf(const MixtureOptions& options,
                                 std::span<const SeqLenChange> seq_lens) {
  std::vector<PartsChange> changes;
  for (const SeqLenChange& change : seq_lens) {
    ItemParts parts;
    parts.is_trimmed = options.trim;
    // r = (M - o) / (L - o) parts of each item, which share o tokens; one with
    // `trim` (docs/index-math.md 2.7).
    const uint32_t overlap = options.sample_overlap;
    if (!options.trim) {
      parts.count =
          (options.max_seq_len - overlap) / (change.seq_len - overlap);
    }
    if (change.seq_len != options.max_seq_len) {
      parts.length = change.seq_len;
      parts.overlap = overlap;
    }
    changes.push_back({change.start, parts});
  }
  return changes;
}

ItemDraws::ItemDraws(uint64_t seed, std::string_view name, const ItemView& view,
                     const ItemParts& parts, uint64_t group)
    : key_(KeyHash(seed).Add(kEpochTag).Add(name)), stated_group_(group) {
  segments_.push_back(MakeSegment(0, 0, 0, view, parts));
}

ItemDraws::Segment ItemDraws::MakeSegment(uint64_t first_ordinal,
                                          uint64_t epoch, uint64_t base,
                                          const ItemView& view,
                                          const ItemParts& parts) const {
  PONIENTE_CHECK(parts.count >= 1 && view.length != uint64_t{0})
      << parts.count << " parts";
  uint64_t group = stated_group_ != 0 ? stated_group_ : kDefaultGroup;
  if (view.length) {
    // ceil(Q / 16), so that small components have several groups, too.
    const uint64_t sixteenth =
        *view.length / kLeastGroups + (*view.length % kLeastGroups != 0);
    if (stated_group_ == 0) group = std::min(group, sixteenth);
    group = std::min(group, *view.length);
  }
  // Whether all products below fit into 64 bits.
  const Uint128 most = Uint128{std::max(base, view.length.value_or(0))};
  const bool is_small = most * parts.count < kMaxSamples;
  Segment segment = {first_ordinal, epoch, base, view, parts, group, is_small};
  segment.parts_before = Uint128{base} * parts.count;
  return segment;
}

Permutation ItemDraws::PartOrder(uint64_t epoch_key, uint64_t first,
                                 uint64_t parts) {
  return Permutation(parts, PartKey(epoch_key, first));
}

// The key of the parts of a group (docs/index-math.md 1.1).
uint64_t ItemDraws::PartKey(uint64_t epoch_key, uint64_t first_place) {
  return Derive(epoch_key, kSubWindowTag, first_place);
}

// draw(n) of docs/index-math.md 2.7 up to the group; `number` becomes y, the
// part's number inside the group before the group's shuffle.
template <class Word>
ItemDraws::Group ItemDraws::GroupIn(const Segment& segment, uint64_t ordinal,
                                    uint64_t* number) {
  const uint64_t r = segment.parts.count;
  // J = b_u * r + n - n_u: parts since the beginning of the segment's epoch.
  Word x = Word{segment.base} * r + (ordinal - segment.first_ordinal);
  uint64_t epoch = segment.epoch;
  uint64_t size = segment.group;
  if (segment.view.length) {
    // e = J / (Q * r), x = J mod (Q * r).
    const Word per_epoch = Word{*segment.view.length} * r;
    if (x >= per_epoch) {
      epoch += static_cast<uint64_t>(x / per_epoch);
      x %= per_epoch;
    }
  }
  const Word group_parts = Word{segment.group} * r;
  // p = (x / (G * r)) * G: the place at which the group begins.
  const uint64_t group = static_cast<uint64_t>(x / group_parts);
  const uint64_t first = group * segment.group;
  // y = x - p * r.
  *number = static_cast<uint64_t>(x - group * group_parts);
  // g = min(G, Q - p): the last group of an epoch may be shorter.
  if (segment.view.length) size = std::min(size, *segment.view.length - first);
  return {epoch, first, size};
}

ItemDraws::Group ItemDraws::GroupOf(const Segment& segment, uint64_t ordinal,
                                    uint64_t* number) const {
  if (segment.dropped != nullptr) return GroupOfRest(segment, ordinal, number);
  return segment.is_small ? GroupIn<uint64_t>(segment, ordinal, number)
                          : GroupIn<Uint128>(segment, ordinal, number);
}

ItemDraws::Run ItemDraws::RunAt(uint64_t ordinal) const {
  const Segment& segment = SegmentOf(ordinal);
  uint64_t number;
  const Group group = GroupOf(segment, ordinal, &number);
  const size_t place = static_cast<size_t>(&segment - segments_.data());
  // Without a later segment there is no bound: draws past the last countable
  // one are never asked for.
  const uint64_t in_segment =
      place + 1 < segments_.size() ? EndOf(place) - ordinal : UINT64_MAX;
  uint64_t in_group = group.size * segment.parts.count - number;
  // Up to the next part that is dropped.
  if (segment.dropped != nullptr && segment.parts.count == 1) {
    in_group =
        std::min(in_group, segment.dropped->NextFrom(group.first + number) -
                               (group.first + number));
  } else if (segment.dropped != nullptr) {
    const std::vector<uint64_t>& dropped = DroppedNumbers(segment, group);
    const auto next = std::lower_bound(dropped.begin(), dropped.end(), number);
    if (next != dropped.end()) in_group = *next - number;
  }
  return {group.epoch,
          group.first,
          group.size,
          number,
          std::min(in_segment, in_group),
          segment.parts,
          segment.view.number};
}

void ItemDraws::Push(Segment next) {
  if (next.first_ordinal == segments_.back().first_ordinal) {
    segments_.back() = std::move(next);
  } else {
    segments_.push_back(std::move(next));
  }
}

ItemDraws::Reached ItemDraws::ReachedAt(uint64_t ordinal) const {
  const Segment& last = segments_.back();
  // b_(u+1) of docs/index-math.md 2.7: unchanged if the segment drew nothing,
  // else behind the group that its last draw touched.
  if (ordinal == last.first_ordinal) {
    return {last.epoch, last.base, last.parts_before};
  }
  uint64_t number;
  const Group group = GroupOf(last, ordinal - 1, &number);
  return {group.epoch, group.first + group.size,
          Uint128{group.first} * last.parts.count + number + 1};
}

void ItemDraws::Continue(uint64_t first_ordinal, const ItemView& view,
                         const ItemParts& parts, const SetChange* sets) {
  const std::optional<ItemView> following = TakeFollowing(first_ordinal);
  const Segment& last = segments_.back();
  PONIENTE_CHECK(first_ordinal >= last.first_ordinal) << first_ordinal;
  const ItemView& current = following ? *following : last.view;
  const bool same_view = view.number == current.number;
  if (following && same_view) {
    // The rest of an epoch goes on, with other parts of its items.
    Segment rest = last;
    if (parts != last.parts) {
      const Reached reached = ReachedAt(first_ordinal);
      uint64_t base = reached.behind;
      if (parts.is_trimmed) base = Low(reached.parts_before / last.parts.count);
      rest = MakeSegment(first_ordinal, last.epoch, base, last.view, parts);
      rest.dropped = last.dropped;
      rest.kept_before = KeptBefore(rest, base);
    }
    AddRest(std::move(rest), view);
    return;
  }
  if (same_view && parts == last.parts) return;
  uint64_t epoch = last.epoch;
  uint64_t base = last.base;
  uint64_t set = last.set;
  uint64_t left_out = first_ordinal > last.first_ordinal ? 0 : last.left_out;
  if (first_ordinal > last.first_ordinal) {
    const Reached reached = ReachedAt(first_ordinal);
    epoch = reached.epoch;
    base = reached.behind;
    // Trimmed items have one part, so nothing of the group is passed over.
    if (same_view && parts.is_trimmed) base = Low(reached.parts_before);
    if (!same_view && sets != nullptr) {
      // 2.8: the first set that no draw has begun.
      PONIENTE_CHECK(last.parts.count == 1) << last.parts.count;
      const uint64_t place = Low(reached.parts_before) - 1;
      set = sets->from->SetOf(epoch, place) + 1;
      left_out = sets->from->FirstOf(epoch, set) - (place + 1);
    }
  }
  if (!same_view) {
    PONIENTE_CHECK(view.length && last.view.length) << "an endless view";
    if (sets != nullptr) {
      if (set == sets->from->num_sets()) {
        set = 0;
        ++epoch;
      }
      base = sets->to->FirstOf(epoch, set);
    } else {
      // Another view begins a new epoch, unless this one has not begun.
      if (base != 0 || set != 0) ++epoch;
      base = 0;
      set = 0;
    }
  }
  Segment next = MakeSegment(first_ordinal, epoch, base, view, parts);
  next.set = set;
  next.left_out = left_out;
  Push(std::move(next));
}

const ItemDraws::Segment& ItemDraws::SegmentOf(uint64_t ordinal) const {
  if (segments_.size() == 1) return segments_[0];
  return PartAt(segments_, ordinal, &Segment::first_ordinal);
}

ItemDraws::Item ItemDraws::At(uint64_t ordinal) const {
  if (is_plain()) {
    const Segment& all = segments_[0];
    // Whole items of one segment: epoch n / Q, place n mod Q.
    if (!all.view.length) return {0, ordinal, 0, all.parts, all.view.number};
    return {ordinal / *all.view.length, ordinal % *all.view.length, 0,
            all.parts, all.view.number};
  }
  const Segment& segment = SegmentOf(ordinal);
  uint64_t number;
  const Group group = GroupOf(segment, ordinal, &number);
  const uint64_t r = segment.parts.count;
  // y = Perm(g * r, ...)(y): the shuffle of the group's parts.
  if (r > 1) {
    number = PartOrder(EpochKey(group.epoch), group.first, group.size * r)
                 .Forward(number);
  }
  // Epoch e, place p + y / r, part y mod r.
  return {group.epoch, group.first + number / r,
          static_cast<uint32_t>(number % r), segment.parts,
          segment.view.number};
}

uint64_t ItemDraws::EndOf(size_t segment) const {
  return segment + 1 < segments_.size() ? segments_[segment + 1].first_ordinal
                                        : kMaxSamples;
}

// find of docs/index-math.md 2.7, in every segment.
std::vector<ItemDraws::Reading> ItemDraws::ReadingsOf(uint32_t view,
                                                      uint64_t epoch,
                                                      uint64_t place) const {
  std::vector<Reading> readings;
  for (size_t u = 0; u < segments_.size(); ++u) {
    const Segment& segment = segments_[u];
    if (segment.view.number != view || epoch < segment.epoch) continue;
    if (segment.view.length && place >= *segment.view.length) continue;
    if (!segment.view.length && epoch != 0) continue;
    if (segment.dropped != nullptr) {
      AddReadingsOfRest(u, epoch, place, &readings);
      continue;
    }
    const uint64_t r = segment.parts.count;
    // p = (place / G) * G and g = min(G, Q - p) below.
    const uint64_t first = place / segment.group * segment.group;
    // (e - epoch) * Q + p: places of the segment before the group.
    const Uint128 places =
        Uint128{epoch - segment.epoch} * segment.view.length.value_or(0) +
        first;
    if (places >= Uint128{segment.base} + kMaxSamples) continue;
    uint64_t size = segment.group;
    if (segment.view.length) {
      size = std::min(size, *segment.view.length - first);
    }
    std::optional<Permutation> order;
    if (r > 1) order = PartOrder(EpochKey(epoch), first, size * r);
    for (uint32_t part = 0; part < r; ++part) {
      // y = the inverse of the group's Perm at (place - p) * r + j.
      uint64_t number = (place - first) * r + part;
      if (order) number = order->Inverse(number);
      // n = n_u + (e * Q + p) * r + y - b_u * r, if n_u <= n < n_(u+1).
      const Uint128 draw = places * r + number;
      const Uint128 passed = Uint128{segment.base} * r;
      if (draw < passed) continue;
      const Uint128 ordinal = segment.first_ordinal + (draw - passed);
      if (ordinal >= EndOf(u)) continue;
      readings.push_back({Low(ordinal), part, segment.parts});
    }
  }
  std::sort(
      readings.begin(), readings.end(),
      [](const Reading& a, const Reading& b) { return a.ordinal < b.ordinal; });
  return readings;
}

ItemDraws::Places ItemDraws::PlacesOf(uint64_t ordinal) const {
  const Segment& segment = SegmentOf(ordinal);
  uint64_t number;
  const Group group = GroupOf(segment, ordinal, &number);
  if (segment.parts.count > 1) return {group.first, group.first + group.size};
  return {group.first + number, group.first + number + 1};
}

uint64_t ItemDraws::PlacesBefore(uint64_t ordinal) const {
  return ordinal == 0 ? 0 : PlacesOf(ordinal - 1).end;
}

std::optional<uint64_t> ItemDraws::FirstOfEpoch(uint64_t epoch) const {
  for (size_t u = 0; u < segments_.size(); ++u) {
    const Segment& segment = segments_[u];
    if (!segment.view.length) continue;
    // The rest of an epoch reads nothing of the next.
    if (segment.dropped != nullptr && epoch > segment.epoch) continue;
    // Places before the epoch, from the beginning of the segment's epoch.
    const Uint128 passed = segment.base;
    const Uint128 wanted =
        epoch <= segment.epoch
            ? Uint128{0}
            : Uint128{epoch - segment.epoch} * *segment.view.length;
    if (wanted >= passed + kMaxSamples) continue;
    // n = n_u + (e * Q - b_u) * r, or n_u if the epoch has begun before.
    const Uint128 more =
        wanted > passed ? (wanted - passed) * segment.parts.count : 0;
    const Uint128 ordinal = segment.first_ordinal + more;
    if (ordinal < EndOf(u)) return Low(ordinal);
  }
  return std::nullopt;
}

std::optional<ItemDraws::Epochs> ItemDraws::EpochsBetween(uint32_t view,
                                                          uint64_t begin,
                                                          uint64_t end) const {
  std::optional<Epochs> epochs;
  for (size_t u = 0; u < segments_.size(); ++u) {
    if (segments_[u].view.number != view) continue;
    const uint64_t first = std::max(begin, segments_[u].first_ordinal);
    const uint64_t last = std::min(end, EndOf(u));
    if (first >= last) continue;
    uint64_t number;
    if (!epochs) epochs = {GroupOf(segments_[u], first, &number).epoch, 0};
    epochs->last = GroupOf(segments_[u], last - 1, &number).epoch;
  }
  return epochs;
}

std::optional<IndexSpan> ItemDraws::SpanBetween(uint32_t view, uint64_t begin,
                                                uint64_t end) const {
  if (begin >= end) return std::nullopt;
  // Views of components that change them are finite.
  if (!segments_[0].view.length) {
    return IndexSpan{{.index = PlacesOf(begin).first},
                     {.index = PlacesOf(end - 1).end - 1}};
  }
  const std::optional<Epochs> epochs = EpochsBetween(view, begin, end);
  if (!epochs) return std::nullopt;
  const auto of_view =
      std::find_if(segments_.begin(), segments_.end(),
                   [&](const Segment& s) { return s.view.number == view; });
  return IndexSpan{{.index = 0, .epoch = epochs->first},
                   {.index = *of_view->view.length - 1, .epoch = epochs->last}};
}

Position WithoutPart(const ItemDraws::Reading& reading, Position below) {
  if (reading.parts.length == kWholeItem) return below;
  below.part_begin -= reading.parts.BeginOf(reading.part);
  if (below.part_begin == 0 && below.part_length == reading.parts.length) {
    below.part_length = kWholeItem;
  }
  return below;
}

bool HoldsPart(const ItemDraws::Reading& reading, const Position& below) {
  if (reading.parts.length == kWholeItem) return true;
  const uint64_t begin = reading.parts.BeginOf(reading.part);
  return below.part_length != kWholeItem && below.part_begin >= begin &&
         uint64_t{below.part_begin} + below.part_length <=
             begin + reading.parts.length;
}

FoundPart FoundAt(const Position& position, const ItemDraws::Reading& reading) {
  FoundPart found = {position, 0, reading.parts.length};
  if (reading.parts.length != kWholeItem) {
    found.part_begin = reading.parts.BeginOf(reading.part);
  }
  return found;
}

}  // namespace poniente::internal
