// SPDX-License-Identifier: Apache-2.0
// Groups the samples of a batch or step by leaf, so that a leaf's properties
// are looked up once and stay in the caches for all its samples.

#ifndef PONIENTE_DATASET_SAMPLES_BY_LEAF_H_
#define PONIENTE_DATASET_SAMPLES_BY_LEAF_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "poniente/dataset_tree.h"

namespace poniente::internal {

// Complexity: O(items + leaves).
class SamplesByLeaf {
 public:
  struct Group {
    uint32_t leaf = 0;
    std::span<const uint32_t> samples;  // numbers of items, ascending
  };

  // REQUIRES: each item's leaf < num_leaves; fewer than 2^32 items.
  SamplesByLeaf(std::span<const LeafPosition> items, size_t num_leaves)
      : samples_(items.size()) {
    // For each leaf: first the number of its items, then the place where its
    // next item belongs.
    std::vector<uint32_t> next(num_leaves);
    for (const LeafPosition& item : items) {
      if (next[item.leaf]++ == 0) groups_.push_back({item.leaf, {}});
    }
    uint32_t begin = 0;
    for (Group& group : groups_) {
      const uint32_t count = std::exchange(next[group.leaf], begin);
      group.samples = std::span(samples_).subspan(begin, count);
      begin += count;
    }
    for (uint32_t i = 0; i < items.size(); ++i) {
      samples_[next[items[i].leaf]++] = i;
    }
  }
  // Not copyable: the groups borrow from this object.
  SamplesByLeaf(const SamplesByLeaf&) = delete;
  SamplesByLeaf& operator=(const SamplesByLeaf&) = delete;

  // Iterates in the order of the leaves' first samples.
  auto begin() const { return groups_.begin(); }
  auto end() const { return groups_.end(); }

 private:
  std::vector<uint32_t> samples_;
  std::vector<Group> groups_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_DATASET_SAMPLES_BY_LEAF_H_
