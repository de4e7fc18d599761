// SPDX-License-Identifier: Apache-2.0
// Children in turn: a block of items of each, round after round.

#ifndef PONIENTE_INDEX_MAPS_INTERLEAVE_MAP_H_
#define PONIENTE_INDEX_MAPS_INTERLEAVE_MAP_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "poniente/extend/index_map.h"

namespace poniente::internal {

// Round r holds items [r * block_items, (r + 1) * block_items) of every child
// that has them, child after child. So a child that has ended is left out, and
// its last block may be short. The epoch is passed on.
//
// Complexity: O(log children) per position in rounds to which every child gives
// a full block, otherwise O(children).
class InterleaveMap final : public IndexMap {
 public:
  // Returns the map; nullopt is the length of an endless child. If `rounds` is
  // set, only the first so many rounds are part of the map. InvalidArgument
  // unless 1 <= block_items <= 2^32, or if the lengths sum to more than 2^63.
  static absl::StatusOr<std::unique_ptr<InterleaveMap>> Create(
      std::vector<std::optional<uint64_t>> lengths, uint64_t block_items,
      std::optional<uint64_t> rounds = std::nullopt);

  std::optional<uint64_t> length() const override { return length_; }
  void Resolve(std::span<const Position> positions,
               std::span<ChildPosition> out) const override;
  std::optional<Position> Find(uint32_t child,
                               const Position& position) const override;
  std::optional<IndexSpan> SpanBelow(uint32_t child,
                                     const IndexSpan& span) const override;

 private:
  // Rounds of one size, up to the next stretch.
  struct RoundStretch {
    uint64_t first_round = 0;
    uint64_t first_index = 0;
    uint64_t round_items = 0;
  };

  InterleaveMap(std::vector<std::optional<uint64_t>> lengths,
                uint64_t block_items)
      : lengths_(std::move(lengths)), block_items_(block_items) {}

  void AddStretches();
  void SetLength(std::optional<uint64_t> rounds);
  const RoundStretch& StretchOfIndex(uint64_t index) const;
  const RoundStretch& StretchOfRound(uint64_t round) const;
  uint64_t RoundOf(uint64_t index) const;
  // Returns the items that a child gives to a round.
  uint64_t ItemsIn(uint32_t child, uint64_t round) const;
  bool IsFull(const RoundStretch& stretch) const {
    return stretch.round_items == block_items_ * lengths_.size();
  }

  const std::vector<std::optional<uint64_t>> lengths_;
  const uint64_t block_items_;
  std::vector<RoundStretch> stretches_;  // none is empty, except the only one
  std::optional<uint64_t> length_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_MAPS_INTERLEAVE_MAP_H_
