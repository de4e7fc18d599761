// SPDX-License-Identifier: Apache-2.0
// A dataset repeated several times or endlessly.

#ifndef PONIENTE_INDEX_MAPS_REPEAT_MAP_H_
#define PONIENTE_INDEX_MAPS_REPEAT_MAP_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "absl/status/statusor.h"
#include "poniente/extend/index_map.h"

namespace poniente::internal {

// Item i of epoch e is the child's item i mod n of its epoch e * times + i / n,
// so a child that shuffles has a new order each time. Without `times` the map
// is endless and ignores its own epoch.
class RepeatMap final : public IndexMap {
 public:
  // Returns the map. InvalidArgument if the length would be above 2^63, or if
  // an empty child is repeated endlessly.
  static absl::StatusOr<std::unique_ptr<RepeatMap>> Create(
      uint64_t child_length, std::optional<uint64_t> times);

  std::optional<uint64_t> length() const override;
  void Resolve(std::span<const Position> positions,
               std::span<ChildPosition> out) const override;
  std::optional<Position> Find(uint32_t child,
                               const Position& position) const override;
  std::optional<IndexSpan> SpanBelow(uint32_t child,
                                     const IndexSpan& span) const override;
  std::optional<uint64_t> PrefixParameters(
      const IndexSpan& span) const override;

 private:
  RepeatMap(uint64_t child_length, std::optional<uint64_t> times)
      : child_length_(child_length), times_(times) {}

  uint64_t child_length_;
  std::optional<uint64_t> times_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_MAPS_REPEAT_MAP_H_
