// SPDX-License-Identifier: Apache-2.0
// Which items the samples of a run are.

#ifndef PONIENTE_TESTS_DATASET_ITEMS_OF_RUN_H_
#define PONIENTE_TESTS_DATASET_ITEMS_OF_RUN_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "poniente/dataset_tree.h"
#include "tests/support/status_matchers.h"

namespace poniente::testing {

// Returns the items of the first samples. Some of them are also asked for one
// by one, as small batches are: whole blocks are computed in another way.
inline std::vector<LeafPosition> ItemsOfRun(const DatasetTree& tree,
                                            uint64_t samples) {
  constexpr uint64_t kBetween = 19;
  std::vector<Position> positions(samples);
  for (uint64_t s = 0; s < samples; ++s) positions[s].index = s;
  std::vector<LeafPosition> items(samples);
  EXPECT_THAT(tree.Resolve(positions, items), IsOk());
  for (uint64_t s = 0; s < samples; s += kBetween) {
    LeafPosition alone;
    EXPECT_THAT(tree.Resolve(std::span(&positions[s], 1), {&alone, 1}), IsOk());
    EXPECT_EQ(alone, items[s]) << "sample " << s << ", asked for alone";
  }
  return items;
}

inline std::vector<LeafPosition> ItemsOfRun(const DatasetNode& root,
                                            uint64_t samples) {
  return ItemsOfRun(DatasetTree(root), samples);
}

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_DATASET_ITEMS_OF_RUN_H_
