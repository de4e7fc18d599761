// SPDX-License-Identifier: Apache-2.0
// The selected items of a dataset, in their order.

#ifndef PONIENTE_INDEX_MAPS_SELECTION_MAP_H_
#define PONIENTE_INDEX_MAPS_SELECTION_MAP_H_

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "poniente/extend/index_map.h"
#include "poniente/selection.h"

namespace poniente::internal {

// Item i is item Select(i) of the one child. The epoch is passed on.
class SelectionMap final : public IndexMap {
 public:
  explicit SelectionMap(Selection selection)
      : selection_(std::move(selection)) {}

  std::optional<uint64_t> length() const override { return selection_.count(); }
  void Resolve(std::span<const Position> positions,
               std::span<ChildPosition> out) const override;
  std::optional<Position> Find(uint32_t child,
                               const Position& position) const override;

 private:
  const Selection selection_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_MAPS_SELECTION_MAP_H_
