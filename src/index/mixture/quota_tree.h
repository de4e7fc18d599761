// SPDX-License-Identifier: Apache-2.0
// Exact shares of every prefix as arithmetic, forwards and backwards.
//
// A Huffman tree over the components of positive weight. An inner node reached
// by its first m samples sends left(m) = clamp(floor(m * p + phase), 0, m) of
// them to the left, p being the left child's part of the node's weight. The
// deviations along a path shrink with the weights, which in a Huffman tree grow
// like Fibonacci numbers towards the root, so component i has received its
// share of the first k samples to within 1.68 samples, whatever the weights.
// Part of the order (kOrderVersion).

#ifndef PONIENTE_INDEX_MIXTURE_QUOTA_TREE_H_
#define PONIENTE_INDEX_MIXTURE_QUOTA_TREE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "index/max_samples.h"

namespace poniente {

// The ordinal-th sample (from 0) that a component serves.
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
// Sample positions go up to 2^62.
//
// Determinism: quanta and debts decide; integers only.
// Thread safety: immutable; any number of threads.
// Complexity: building O(K log K) and about 40 bytes per component; each
//     question O(depth), which is at most the entropy of the weights plus one
//     on average over the samples, and never above 90.
// Errors: quanta that do not sum to kTotal, a component or position out of
//     range are the caller's bugs and abort.
class QuotaTree {
 public:
  static constexpr uint64_t kTotal = uint64_t{1} << 62;
  static constexpr uint64_t kMaxPosition = internal::kMaxSamples;

  // `quanta` are the weights, in parts of kTotal. `debts`, empty or one per
  // component in units of 2^-48 samples, is what each should have received
  // before sample 0 but did not; it is paid back first. Debts beyond 2^61 units
  // count as that much.
  explicit QuotaTree(std::span<const uint64_t> quanta,
                     std::span<const int64_t> debts = {});

  // Which component's sample number `position` is, and of which ordinal.
  Draw Locate(uint64_t position) const;

  // How many of the samples before `position` are `component`'s.
  uint64_t Count(uint32_t component, uint64_t position) const;

  // The inverse of Locate(); nullopt if the component has weight 0 or the
  // sample lies at or beyond kMaxPosition.
  std::optional<uint64_t> PositionOf(uint32_t component,
                                     uint64_t ordinal) const;

  // The samples [begin, end) grouped by component, components in the order of
  // leaves(): which of them is number `slot`.
  // REQUIRES: slot < end - begin, here and below.
  Draw At(uint64_t begin, uint64_t end, uint64_t slot) const;

  // The inverse of At(). REQUIRES: the draw is one of [begin, end).
  uint64_t SlotOf(uint64_t begin, uint64_t end, const Draw& draw) const;

  // All of At(begin, end, ...) as runs, replacing what `runs` held.
  void Expand(uint64_t begin, uint64_t end, std::vector<DrawRun>* runs) const;

  // The components of positive weight, from left to right.
  std::span<const uint32_t> leaves() const { return leaves_; }

 private:
  // An inner node. A link with kLeafBit is a component, else a node number.
  struct Node {
    uint64_t left_share;  // In parts of 2^63.
    int64_t phase;        // In parts of 2^48.
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
  // Links from the root's child down to the component; returns their number.
  int PathTo(uint32_t component, uint32_t (&path)[kMaxDepth]) const;

  uint32_t root_ = kNone;
  std::vector<Node> nodes_;
  std::vector<uint32_t> leaf_parent_;  // Per component; kNone at weight 0.
  std::vector<uint32_t> leaves_;
};

}  // namespace poniente

#endif  // PONIENTE_INDEX_MIXTURE_QUOTA_TREE_H_
