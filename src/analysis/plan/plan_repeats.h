// SPDX-License-Identifier: Apache-2.0
// Finds out when something is read for the second time, by looking at the
// samples themselves. The maps alone cannot tell: it depends on the order
// within a block and on the windows that a change of length skips.

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

// The set of tokens that some samples have read.
class ReadParts {
 public:
  // Parts of an item share `overlap` tokens, which do not count as read twice.
  explicit ReadParts(uint32_t overlap) : overlap_(overlap) {}

  // Adds the tokens. Returns false if some of them were in the set already.
  bool Add(const LeafPosition& read);

 private:
  // Disjoint ranges of tokens of each item of a leaf: the key is the begin, the
  // value the end.
  absl::flat_hash_map<std::pair<uint32_t, Index>, std::map<uint32_t, uint32_t>>
      read_;
  const uint32_t overlap_;
};

// A sample that reads something again.
struct Repeat {
  uint64_t sample = 0;
  // False: no sample before it repeats, but it may not repeat either.
  bool is_exact = true;
};

// A leaf of the tree, and the first leaf that has the same items. The two may
// differ if a component has several views.
struct LikeLeaf {
  uint32_t leaf = 0;
  uint32_t first = 0;
};

// Returns the first of samples [from, end) that reads tokens of these leaves
// again; nullopt if none does. If the budget runs out, returns the sample that
// the search has reached, with is_exact false; also the first that reads a
// later epoch of packed documents. Parts of an item share `overlap` tokens.
// REQUIRES: samples before `from` read only epoch 0 of these leaves; `leaves`
//     are in the order of the tree.
absl::StatusOr<std::optional<Repeat>> FindRepeat(
    const DatasetTree& tree, const std::vector<LikeLeaf>& leaves, uint64_t from,
    uint64_t end, uint32_t overlap, LookUps* look_ups);

}  // namespace poniente::internal

#endif  // PONIENTE_ANALYSIS_PLAN_PLAN_REPEATS_H_
