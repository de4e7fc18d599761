// SPDX-License-Identifier: Apache-2.0
// The items of one dataset, cut into samples by a schedule of lengths; endless
// (docs/index-math.md 2.7).

#ifndef PONIENTE_INDEX_MAPS_CUT_MAP_H_
#define PONIENTE_INDEX_MAPS_CUT_MAP_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "index/mixture/item_draws.h"
#include "poniente/extend/index_map.h"

namespace poniente::internal {

// Sample n is draw n of a component without a name (ItemDraws), in the child's
// order: if nothing is cut, item n mod length of epoch n / length.
class CutMap final : public IndexMap {
 public:
  // Returns the map. `changes` are as MixtureRules::parts. InvalidArgument if
  // the child is empty.
  static absl::StatusOr<std::unique_ptr<CutMap>> Create(
      std::optional<uint64_t> child_length, uint64_t seed,
      std::span<const PartsChange> changes, uint64_t group);

  std::optional<uint64_t> length() const override { return std::nullopt; }
  void Resolve(std::span<const Position> positions,
               std::span<ChildPosition> out) const override;
  std::optional<Position> Find(uint32_t child,
                               const Position& position) const override;
  void FindParts(uint32_t child, const Position& whole,
                 std::vector<FoundPart>* found) const override;
  std::optional<IndexSpan> SpanBelow(uint32_t child,
                                     const IndexSpan& span) const override;
  // Returns 0 while nothing has been cut, as if this node did not exist.
  std::optional<uint64_t> PrefixParameters(
      const IndexSpan& span) const override;

  const ItemDraws& draws() const { return draws_; }

 private:
  CutMap(std::optional<uint64_t> child_length, ItemDraws draws)
      : child_length_(child_length), draws_(std::move(draws)) {}

  std::optional<uint64_t> child_length_;
  ItemDraws draws_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_MAPS_CUT_MAP_H_
