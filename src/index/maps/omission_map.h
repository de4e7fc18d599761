// SPDX-License-Identifier: Apache-2.0
// The items of a dataset without those that are left out, in their order.

#ifndef PONIENTE_INDEX_MAPS_OMISSION_MAP_H_
#define PONIENTE_INDEX_MAPS_OMISSION_MAP_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "index/selection/omissions.h"
#include "poniente/extend/index_map.h"

namespace poniente::internal {

// Item i is item Kept(i) of the one child. The epoch is passed on.
class OmissionMap final : public IndexMap {
 public:
  explicit OmissionMap(std::shared_ptr<const Omissions> omissions)
      : omissions_(std::move(omissions)) {}

  std::optional<uint64_t> length() const override { return omissions_->kept(); }
  void Resolve(std::span<const Position> positions,
               std::span<ChildPosition> out) const override;
  std::optional<Position> Find(uint32_t child,
                               const Position& position) const override;

 private:
  const std::shared_ptr<const Omissions> omissions_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_MAPS_OMISSION_MAP_H_
