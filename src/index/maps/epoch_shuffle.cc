// SPDX-License-Identifier: Apache-2.0
#include "index/maps/epoch_shuffle.h"

#include <algorithm>
#include <cstddef>

#include "util/check.h"

namespace poniente::internal {
namespace {

// Indices permuted together; they stay on the stack.
constexpr size_t kIndexBatch = 256;

}  // namespace

EpochShuffle::EpochShuffle(uint64_t length, uint64_t seed, Tag tag,
                           const OrderSpec& spec)
    : length_(length), seed_(seed), tag_(tag), spec_(spec) {
  const absl::Status possible = CheckOrder(spec, length);
  PONIENTE_CHECK(possible.ok()) << possible;
}

void EpochShuffle::Forward(std::span<const Position> positions,
                           std::span<ChildPosition> out) const {
  PONIENTE_CHECK(positions.size() == out.size()) << positions.size();
  uint64_t indices[kIndexBatch];
  for (size_t at = 0; at < positions.size();) {
    const uint64_t epoch = positions[at].epoch;
    const ItemOrder order = Order(epoch);
    while (at < positions.size() && positions[at].epoch == epoch) {
      const size_t most = std::min(kIndexBatch, positions.size() - at);
      size_t count = 0;
      for (; count < most && positions[at + count].epoch == epoch; ++count) {
        indices[count] = positions[at + count].index;
      }
      order.Forward({indices, count}, {indices, count});
      for (size_t i = 0; i < count; ++i, ++at) {
        out[at] = {0, positions[at]};
        out[at].position.index = indices[i];
      }
    }
  }
}

}  // namespace poniente::internal
