// SPDX-License-Identifier: Apache-2.0
#include "index/packing/bin_squares.h"

#include <cstddef>
#include <span>

#include "index/part_at.h"

namespace poniente::internal {

BinSquares::BinSquares(const WindowPacking& packing) {
  const BinPlan& plan = packing.plan();
  const uint64_t num_bins = packing.num_windows();
  const uint64_t num_full = num_bins - plan.num_bins();
  if (num_full > 0) groups_.push_back({0, packing.SquaredLengthsOfBin(0)});
  for (const BinGroup& group : plan.groups()) {
    const uint64_t first = num_full + group.first_bin;
    groups_.push_back({first, packing.SquaredLengthsOfBin(first)});
  }
  while ((num_bins >> shift_) > 2 * groups_.size()) ++shift_;
  size_t group = 0;
  for (uint64_t bin = 0; bin < num_bins; bin += uint64_t{1} << shift_) {
    while (group + 1 < groups_.size() && groups_[group + 1].first_bin <= bin) {
      ++group;
    }
    group_at_.push_back(static_cast<uint32_t>(group));
  }
  group_at_.push_back(static_cast<uint32_t>(groups_.size() - 1));
}

uint64_t BinSquares::Of(uint64_t bin) const {
  const uint64_t at = bin >> shift_;
  const uint32_t first = group_at_[at];
  const uint32_t last = group_at_[at + 1];
  if (first == last) return groups_[first].squares;
  return PartAt(std::span(groups_).subspan(first, last - first + 1), bin,
                &Group::first_bin)
      .squares;
}

}  // namespace poniente::internal
