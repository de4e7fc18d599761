// SPDX-License-Identifier: Apache-2.0
// When something is read for the second time, from the samples themselves: the
// order within a block, and windows that a change of length skips, decide it.

#ifndef PONIENTE_ANALYSIS_PLAN_PLAN_REPEATS_H_
#define PONIENTE_ANALYSIS_PLAN_PLAN_REPEATS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "analysis/plan/plan_flow.h"
#include "poniente/dataset_tree.h"

namespace poniente::internal {

// What some samples have read.
class ReadParts {
 public:
  // False if some of these tokens are known already.
  bool Add(const LeafPosition& read);

 private:
  // Ends by begins: disjoint tokens of an item of a leaf.
  absl::flat_hash_map<std::pair<uint32_t, Index>, std::map<uint32_t, uint32_t>>
      read_;
};

// A sample that reads something again.
struct Repeat {
  uint64_t sample = 0;
  // Else none before it does.
  bool is_exact = true;
};

// A leaf of the tree and the first one that has the same items, which is
// another where a component has several views.
struct LikeLeaf {
  uint32_t leaf = 0;
  uint32_t first = 0;
};

// The first of samples [from, end) that reads tokens of these leaves again;
// nullopt if none does. Looks at samples as long as the budget lasts.
// REQUIRES: samples before `from` read their epoch 0 alone. `leaves` are in
// their order.
absl::StatusOr<std::optional<Repeat>> FindRepeat(
    const DatasetTree& tree, const std::vector<LikeLeaf>& leaves, uint64_t from,
    uint64_t end, LookUps* look_ups);

}  // namespace poniente::internal

#endif  // PONIENTE_ANALYSIS_PLAN_PLAN_REPEATS_H_
