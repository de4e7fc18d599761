// SPDX-License-Identifier: Apache-2.0
// Groups a request by the children that answer it.

#ifndef PONIENTE_EXTEND_CHILD_GROUPS_H_
#define PONIENTE_EXTEND_CHILD_GROUPS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "poniente/extend/index_map.h"

namespace poniente::internal {

// The requests for one child, and where their answers belong.
struct ChildGroup {
  uint32_t child = 0;
  std::span<const Position> positions = {};
  std::span<uint32_t> places = {};
};

// Requests grouped by child, in the order of each child's first request. The
// groups borrow from this object.
class ChildGroups {
 public:
  ChildGroups(const IndexMap& map, std::span<const Position> positions);

  size_t size() const { return groups_.size(); }
  auto begin() const { return groups_.begin(); }
  auto end() const { return groups_.end(); }

 private:
  std::vector<Position> positions_;
  std::vector<uint32_t> places_;
  std::vector<ChildGroup> groups_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_EXTEND_CHILD_GROUPS_H_
