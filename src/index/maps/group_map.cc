// SPDX-License-Identifier: Apache-2.0
#include "index/maps/group_map.h"

#include <algorithm>
#include <cstddef>

#include "util/check.h"

namespace poniente::internal {

GroupMap::GroupMap(std::optional<uint64_t> child_length, uint64_t group_items,
                   uint64_t made_items)
    : child_length_(child_length), group_(group_items), made_(made_items) {
  constexpr uint64_t kMost = uint64_t{1} << 32;
  PONIENTE_CHECK(group_ >= 1 && group_ <= kMost) << group_;
  PONIENTE_CHECK(made_ <= kMost) << made_;
  length_ = child_length;
  if (!child_length.has_value() || made_ == 0) return;
  constexpr uint64_t kMaxLength = uint64_t{1} << 63;
  const uint64_t groups = *child_length / group_ + (*child_length % group_ > 0);
  length_ = groups > kMaxLength / made_ ? kMaxLength : groups * made_;
}

uint64_t GroupMap::GroupEnd(uint64_t number) const {
  return std::min(child_length_.value_or(UINT64_MAX), (number + 1) * group_);
}

uint64_t GroupMap::ChildIndex(uint64_t index) const {
  if (made_ == 0) return index;
  const uint64_t group = index / made_;
  const uint64_t place = index % made_ * group_ / made_;
  return std::min(group * group_ + place, GroupEnd(group) - 1);
}

void GroupMap::Resolve(std::span<const Position> positions,
                       std::span<ChildPosition> out) const {
  PONIENTE_CHECK(positions.size() == out.size()) << positions.size();
  for (size_t i = 0; i < positions.size(); ++i) {
    out[i] = {0, positions[i]};
    out[i].position.index = ChildIndex(positions[i].index);
  }
}

std::optional<Position> GroupMap::Find(uint32_t child,
                                       const Position& position) const {
  if (child != 0 || (child_length_ && position.index >= *child_length_)) {
    return std::nullopt;
  }
  Position found = position;
  if (made_ == 0) return found;
  const uint64_t group = position.index / group_;
  const uint64_t place = position.index % group_;
  const uint64_t made = (place * made_ + group_ - 1) / group_;
  found.index = group * made_ + std::min(made, made_ - 1);
  if (ChildIndex(found.index) != position.index) return std::nullopt;
  return found;
}

void GroupMap::FindParts(uint32_t child, const Position& whole,
                         std::vector<FoundPart>* found) const {
  if (child != 0 || (child_length_ && whole.index >= *child_length_)) return;
  const uint64_t group = whole.index / group_;
  const uint64_t begin = group * made_by_group();
  const uint64_t end = made_ == 0 ? GroupEnd(group) : group * made_ + made_;
  Position position = whole;
  for (position.index = begin; position.index < end; ++position.index) {
    found->push_back({position, 0, kWholeItem});
  }
}

std::optional<IndexSpan> GroupMap::SpanBelow(uint32_t /*child*/,
                                             const IndexSpan& span) const {
  if (length_ == uint64_t{0}) return std::nullopt;
  const uint64_t last = length_.value_or(UINT64_MAX) - 1;
  const uint64_t first_group =
      std::min(span.first.index, last) / made_by_group();
  const uint64_t last_group = std::min(span.last.index, last) / made_by_group();
  return IndexSpan{
      {.index = first_group * group_, .epoch = span.first.epoch},
      {.index = GroupEnd(last_group) - 1, .epoch = span.last.epoch}};
}

}  // namespace poniente::internal
