// SPDX-License-Identifier: Apache-2.0
// The items of one dataset, cut into samples by a schedule of lengths
// (docs/index-math.md 2.7), or of datasets that follow one another (2.8);
// endless.

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
// With several children, each of them takes over at its start, in the epoch
// that the one before was in; all items are whole.
class CutMap final : public IndexMap {
 public:
  struct View {
    uint64_t start = 0;  // first sample
    uint64_t length = 0;
    const ItemSets* sets = nullptr;  // needed by Create() only
  };

  // Returns the map. `changes` are as MixtureRules::parts. InvalidArgument if
  // the child is empty.
  static absl::StatusOr<std::unique_ptr<CutMap>> Create(
      std::optional<uint64_t> child_length, uint64_t seed,
      std::span<const PartsChange> changes, uint64_t group);
  // Returns the map of several children. InvalidArgument if one is empty, or if
  // they do not have the same sets. REQUIRES: starts increase strictly from 0.
  static absl::StatusOr<std::unique_ptr<CutMap>> CreateOfViews(
      std::span<const View> views, uint64_t seed);

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
  CutMap(std::vector<std::optional<uint64_t>> lengths, ItemDraws draws)
      : lengths_(std::move(lengths)), draws_(std::move(draws)) {}

  bool Has(uint32_t child, const Position& position) const {
    return child < lengths_.size() &&
           (!lengths_[child] || position.index < *lengths_[child]);
  }

  std::vector<std::optional<uint64_t>> lengths_;  // of the children
  ItemDraws draws_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_MAPS_CUT_MAP_H_
