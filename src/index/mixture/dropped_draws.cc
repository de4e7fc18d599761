// SPDX-License-Identifier: Apache-2.0
// Implements the part of ItemDraws that reads an epoch to its end without the
// items that were dropped from it (docs/index-math.md 2.9).
#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "index/max_samples.h"
#include "index/mixture/item_draws.h"
#include "poniente/permutation.h"
#include "util/check.h"
#include "util/status_macros.h"

namespace poniente::internal {

Uint128 ItemDraws::KeptBefore(const Segment& segment, uint64_t place) {
  // (p - dropped places before p) * r.
  return Uint128{place - segment.dropped->CountBelow(place)} *
         segment.parts.count;
}

const std::vector<uint64_t>& ItemDraws::DroppedNumbers(
    const Segment& segment, const Group& group) const {
  // Draws that follow one another are of the same group.
  struct Kept {
    uint64_t dropped = 0;  // fingerprint
    uint64_t epoch_key = 0;
    uint64_t first = 0;
    uint64_t size = 0;
    uint64_t parts = 0;
    std::vector<uint64_t> numbers;
  };
  constexpr size_t kGroups = 8;
  thread_local std::array<Kept, kGroups> groups;
  thread_local size_t next = 0;
  const uint64_t r = segment.parts.count;
  const uint64_t dropped = segment.dropped->fingerprint();
  const uint64_t epoch_key = EpochKey(group.epoch);
  for (const Kept& kept : groups) {
    if (kept.size == group.size && kept.first == group.first &&
        kept.parts == r && kept.epoch_key == epoch_key &&
        kept.dropped == dropped) {
      return kept.numbers;
    }
  }
  const uint64_t end = group.first + group.size;
  std::vector<uint64_t> numbers;
  const Permutation order = PartOrder(epoch_key, group.first, group.size * r);
  for (uint64_t place = segment.dropped->NextFrom(group.first); place < end;
       place = segment.dropped->NextFrom(place + 1)) {
    for (uint64_t part = 0; part < r; ++part) {
      numbers.push_back(order.Inverse((place - group.first) * r + part));
    }
  }
  std::sort(numbers.begin(), numbers.end());
  // Complete before it is kept, as the memory for it may not be there.
  Kept& made = groups[next];
  next = (next + 1) % kGroups;
  made = {dropped, epoch_key, group.first, group.size, r, std::move(numbers)};
  return made.numbers;
}

uint64_t ItemDraws::KeptNumbers(const Segment& segment, const Group& group,
                                uint64_t number) const {
  const std::vector<uint64_t>& dropped = DroppedNumbers(segment, group);
  return number - static_cast<uint64_t>(
                      std::lower_bound(dropped.begin(), dropped.end(), number) -
                      dropped.begin());
}

ItemDraws::Group ItemDraws::GroupAt(const Segment& segment, uint64_t place) {
  const uint64_t first = place / segment.group * segment.group;
  return {segment.epoch, first,
          std::min(segment.group, *segment.view.length - first)};
}

// draw(n) of docs/index-math.md 2.9.
ItemDraws::Group ItemDraws::GroupOfRest(const Segment& segment,
                                        uint64_t ordinal,
                                        uint64_t* number) const {
  const uint64_t r = segment.parts.count;
  // K: the number of the draw among the epoch's parts that are not dropped.
  const Uint128 kept = segment.kept_before + (ordinal - segment.first_ordinal);
  // A place of the group, as each place that is not dropped has r of these.
  const uint64_t place = segment.dropped->Kept(static_cast<uint64_t>(kept / r));
  const Group group = GroupAt(segment, place);
  if (r == 1) {
    *number = place - group.first;
    return group;
  }
  // The parts of the group that are not dropped, in the order of the group.
  const auto rank =
      static_cast<uint64_t>(kept - KeptBefore(segment, group.first));
  // Dropped number i of the group comes before it if number - i <= rank.
  const std::vector<uint64_t>& dropped = DroppedNumbers(segment, group);
  const auto behind = std::partition_point(
      dropped.begin(), dropped.end(), [&](const uint64_t& one) {
        return one - static_cast<uint64_t>(&one - dropped.data()) <= rank;
      });
  *number = rank + static_cast<uint64_t>(behind - dropped.begin());
  return group;
}

std::optional<ItemView> ItemDraws::TakeFollowing(uint64_t ordinal) {
  const Segment& last = segments_.back();
  if (!last.follows_rest || ordinal >= last.first_ordinal) return std::nullopt;
  const ItemView view = last.view;
  segments_.pop_back();
  return view;
}

void ItemDraws::AddRest(Segment rest, const ItemView& next) {
  const Uint128 kept =
      Uint128{rest.dropped->kept()} * rest.parts.count - rest.kept_before;
  // Draws beyond the last countable one are never asked for.
  const auto end = static_cast<uint64_t>(
      std::min(Uint128{rest.first_ordinal} + kept, Uint128{kMaxSamples}));
  Segment following = MakeSegment(end, rest.epoch + 1, 0, next, rest.parts);
  following.follows_rest = true;
  if (kept > 0) Push(std::move(rest));
  Push(std::move(following));
}

absl::Status ItemDraws::Drop(uint64_t first_ordinal, const ItemView& view,
                             const ItemParts& parts, const PlacesToDrop& places,
                             bool of_whole_epoch) {
  TakeFollowing(first_ordinal);
  const Segment& last = segments_.back();
  PONIENTE_CHECK(first_ordinal >= last.first_ordinal) << first_ordinal;
  PONIENTE_CHECK(view.length && last.view.length) << "an endless view";
  const Reached reached = ReachedAt(first_ordinal);
  const Uint128 all = Uint128{*last.view.length} * last.parts.count;
  // (An epoch from which places are dropped may not have begun either.)
  const bool is_between =
      (reached.parts_before == 0 && last.dropped == nullptr) ||
      reached.parts_before == all;
  if (is_between && !of_whole_epoch) {
    Continue(first_ordinal, view, parts);
    return absl::OkStatus();
  }
  PONIENTE_CHECK(!is_between || reached.parts_before == 0) << first_ordinal;
  // The present epoch keeps its parts: where they change, Continue() says so.
  Segment rest = MakeSegment(first_ordinal, reached.epoch, reached.behind,
                             last.view, last.parts);
  rest.parts_before = reached.parts_before;
  PONIENTE_ASSIGN_OR_RETURN(
      rest.dropped, places(last.view.number, reached.epoch, last.dropped));
  if (is_between && rest.dropped->kept() == 0) {
    Continue(first_ordinal, view, parts);
    return absl::OkStatus();
  }
  const uint64_t r = last.parts.count;
  const auto place = static_cast<uint64_t>(reached.parts_before / r);
  if (r == 1) {
    rest.kept_before = KeptBefore(rest, place);
  } else {
    // The group in progress: its parts that have been passed.
    const Group group = GroupAt(rest, place);
    const auto passed =
        static_cast<uint64_t>(reached.parts_before - Uint128{group.first} * r);
    rest.kept_before =
        KeptBefore(rest, group.first) + KeptNumbers(rest, group, passed);
  }
  const bool has_other_parts = parts != last.parts;  // `last` may move
  AddRest(std::move(rest), view);
  if (has_other_parts) Continue(first_ordinal, view, parts);
  return absl::OkStatus();
}

// find of docs/index-math.md 2.9.
void ItemDraws::AddReadingsOfRest(size_t u, uint64_t epoch, uint64_t place,
                                  std::vector<Reading>* readings) const {
  const Segment& segment = segments_[u];
  if (epoch != segment.epoch || segment.dropped->Contains(place)) return;
  const uint64_t r = segment.parts.count;
  const Group group = GroupAt(segment, place);
  std::optional<Permutation> order;
  if (r > 1) order = PartOrder(EpochKey(epoch), group.first, group.size * r);
  for (uint32_t part = 0; part < r; ++part) {
    // K: the parts that are not dropped before this one, in the epoch.
    Uint128 kept = KeptBefore(segment, place);
    if (order) {
      const uint64_t number = order->Inverse((place - group.first) * r + part);
      kept = KeptBefore(segment, group.first) +
             KeptNumbers(segment, group, number);
    }
    // n = n_u + K - K of the first draw, if n_u <= n < n_(u+1).
    if (kept < segment.kept_before) continue;
    const Uint128 ordinal =
        segment.first_ordinal + (kept - segment.kept_before);
    if (ordinal >= EndOf(u)) continue;
    readings->push_back({static_cast<uint64_t>(ordinal), part, segment.parts});
  }
}

}  // namespace poniente::internal
