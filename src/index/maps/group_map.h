// SPDX-License-Identifier: Apache-2.0
// Items that are made from groups of consecutive items.

#ifndef PONIENTE_INDEX_MAPS_GROUP_MAP_H_
#define PONIENTE_INDEX_MAPS_GROUP_MAP_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "poniente/extend/index_map.h"

namespace poniente::internal {

// Group q is items [q * group_items, (q + 1) * group_items) of the one child;
// the last group may be short. A group makes `made_items` items, or as many as
// it has. An item that is made resolves to an item of its group: the same one
// if the numbers are equal, otherwise one that lies as far from the group's
// beginning in proportion. FindParts() returns all that the group makes. The
// epoch is passed on.
class GroupMap final : public IndexMap {
 public:
  // Creates the map over a child of this length; nullopt if endless.
  // `made_items` is 0 for as many as the group has. REQUIRES: 1 <= group_items
  // <= 2^32, made_items <= 2^32.
  GroupMap(std::optional<uint64_t> child_length, uint64_t group_items,
           uint64_t made_items);

  // Returns the items of a group.
  uint64_t group() const { return group_; }
  std::optional<uint64_t> length() const override { return length_; }
  void Resolve(std::span<const Position> positions,
               std::span<ChildPosition> out) const override;
  std::optional<Position> Find(uint32_t child,
                               const Position& position) const override;
  void FindParts(uint32_t child, const Position& whole,
                 std::vector<FoundPart>* found) const override;
  std::optional<IndexSpan> SpanBelow(uint32_t child,
                                     const IndexSpan& span) const override;

 private:
  uint64_t made_by_group() const { return made_ == 0 ? group_ : made_; }
  uint64_t ChildIndex(uint64_t index) const;
  // Returns one more than the last item of the child that a group has.
  uint64_t GroupEnd(uint64_t number) const;

  const std::optional<uint64_t> child_length_;
  const uint64_t group_;
  const uint64_t made_;
  std::optional<uint64_t> length_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_MAPS_GROUP_MAP_H_
