// SPDX-License-Identifier: Apache-2.0
// Computes which component serves a sample, and the inverse, so that every
// prefix keeps to the shares (docs/index-math.md 2.2).
//
// The components of positive weight are the leaves of a Huffman tree. An inner
// node sends left(m) = clamp(floor(m * p + phase), 0, m) of its first m samples
// to the left child, where p is the left child's share of the node's weight.
// Deviations along a path shrink with the weights, which in a Huffman tree grow
// towards the root like Fibonacci numbers. So in one stage component i has
// received its share of the first k samples to within 1.68 samples, for all
// weights. Part of the order (kOrderVersion).

#ifndef PONIENTE_INDEX_MIXTURE_QUOTA_TREE_H_
#define PONIENTE_INDEX_MIXTURE_QUOTA_TREE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "index/max_samples.h"

namespace poniente {

// The sample number `ordinal` (from 0) that a component serves.
struct Draw {
  uint32_t component = 0;
  uint64_t ordinal = 0;

  friend bool operator==(const Draw&, const Draw&) = default;
};

// Consecutive samples of one component: slot first_slot + j is its draw
// first_ordinal + j, for j < count.
struct DrawRun {
  uint32_t component = 0;
  uint64_t first_slot = 0;
  uint64_t first_ordinal = 0;
  uint64_t count = 0;

  friend bool operator==(const DrawRun&, const DrawRun&) = default;
};

// Deals samples 0, 1, 2, ... out to components in fixed proportions.
//
// Components are numbered in canonical order (by name), which settles ties.
// Sample positions are below 2^62.
//
// Determinism: quanta and debts decide, in integer arithmetic.
// Thread safety: immutable; any number of threads.
// Complexity: O(K log K) to build, about 40 bytes per component. A question
//     takes O(depth): on average over the samples at most the entropy of the
//     weights plus one, and never more than 90.
// Errors: quanta that do not sum to kTotal, and a component or position out of
//     range, are bugs of the caller and abort.
class QuotaTree {
 public:
  static constexpr uint64_t kTotal = uint64_t{1} << 62;
  static constexpr uint64_t kMaxPosition = internal::kMaxSamples;

  // Builds the tree. `quanta` are the weights, in units of 1 / kTotal. `debts`
  // is empty or has one entry per component, in units of 2^-48 samples: what
  // the component should have received before sample 0 but did not. Debts are
  // paid back first; a debt beyond 2^61 units counts as 2^61.
  explicit QuotaTree(std::span<const uint64_t> quanta,
                     std::span<const int64_t> debts = {});

  // Returns the component of sample `position`, and which of its samples it is.
  Draw Locate(uint64_t position) const;

  // Returns how many samples before `position` belong to `component`.
  uint64_t Count(uint32_t component, uint64_t position) const;

  // Inverts Locate(). Returns nullopt if the component has weight 0 or the
  // sample lies at or beyond kMaxPosition.
  std::optional<uint64_t> PositionOf(uint32_t component,
                                     uint64_t ordinal) const;

  // Returns the sample at `slot` if the samples [begin, end) are grouped by
  // component, with the components in the order of leaves(). REQUIRES, here and
  // below: slot < end - begin.
  Draw At(uint64_t begin, uint64_t end, uint64_t slot) const;

  // Inverts At(). REQUIRES: the draw is one of [begin, end).
  uint64_t SlotOf(uint64_t begin, uint64_t end, const Draw& draw) const;

  // Replaces `runs` by the results of At(begin, end, ...) for all slots, as
  // runs.
  void Expand(uint64_t begin, uint64_t end, std::vector<DrawRun>* runs) const;

  // Returns the components of positive weight, from left to right.
  std::span<const uint32_t> leaves() const { return leaves_; }

 private:
  // An inner node. A link with kLeafBit is a component, any other a node
  // number.
  struct Node {
    uint64_t left_share;  // P_v, in units of 2^-63
    int64_t phase;        // phi_v, in units of 2^-48
    uint32_t left;
    uint32_t right;
    uint32_t parent;
  };
  static constexpr uint32_t kLeafBit = uint32_t{1} << 31;
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr int kMaxDepth = 96;

  bool HasWeight(uint32_t component) const {
    return leaf_parent_[component] != kNone || root_ == (component | kLeafBit);
  }
  static uint64_t LeftCount(const Node& node, uint64_t count);
  void ExpandAll(uint64_t begin, uint64_t end,
                 std::vector<DrawRun>* runs) const;
  void Join(std::span<const uint64_t> quanta, std::span<const int64_t> debts);
  void OrderLeaves();
  // Writes the links from the root's child down to the component; returns their
  // number.
  int PathTo(uint32_t component, uint32_t (&path)[kMaxDepth]) const;

  uint32_t root_ = kNone;
  std::vector<Node> nodes_;
  std::vector<uint32_t> leaf_parent_;  // per component; kNone for weight 0
  std::vector<uint32_t> leaves_;
};

}  // namespace poniente

#endif  // PONIENTE_INDEX_MIXTURE_QUOTA_TREE_H_
