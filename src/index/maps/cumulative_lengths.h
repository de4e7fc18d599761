// SPDX-License-Identifier: Apache-2.0
// Several lengths end to end, as one range of indices.

#ifndef PONIENTE_INDEX_MAPS_CUMULATIVE_LENGTHS_H_
#define PONIENTE_INDEX_MAPS_CUMULATIVE_LENGTHS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

namespace poniente::internal {

class CumulativeLengths {
 public:
  struct PartIndex {
    uint32_t part = 0;
    uint64_t index = 0;
  };

  // Returns the sums; InvalidArgument if the lengths sum to more than 2^63.
  // Parts may be empty.
  static absl::StatusOr<CumulativeLengths> Create(
      std::span<const uint64_t> lengths);

  size_t parts() const { return starts_.size() - 1; }
  uint64_t total() const { return starts_.back(); }

  // Returns the part that contains `index`, and the index within it. O(log
  // parts). REQUIRES: index < total().
  PartIndex Locate(uint64_t index) const;

  // Inverts Locate(); nullopt if there is no such part or item.
  std::optional<uint64_t> IndexOf(uint32_t part, uint64_t index) const;

 private:
  explicit CumulativeLengths(std::vector<uint64_t> starts);

  std::vector<uint64_t> starts_;  // of each part, then the total
};

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_MAPS_CUMULATIVE_LENGTHS_H_
