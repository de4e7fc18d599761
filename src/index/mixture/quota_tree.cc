// SPDX-License-Identifier: Apache-2.0
#include "index/mixture/quota_tree.h"

#include <algorithm>
#include <cstddef>

#include "index/int128.h"
#include "util/check.h"

namespace poniente {
namespace {

using internal::Int128;
using internal::Uint128;

// Debts of a node lie within +-2^61 units of 2^-48 (docs/index-math.md 2.4).
constexpr int64_t kMaxDebt = int64_t{1} << 61;
constexpr int64_t kHalf = int64_t{1} << 47;  // in units of 2^-48
// A whole share: left_share counts in units of 2^-63.
constexpr uint64_t kShareUnit = uint64_t{1} << 63;
constexpr int kPhaseShift = 15;  // from units of 2^-48 to 2^-63

// A subtree while the tree is built: its weight W_v and its debt D_v
// (docs/index-math.md 2.4).
struct Subtree {
  uint32_t link;
  uint64_t weight;
  int64_t debt;
};

int64_t ClampDebt(Int128 debt) {
  return static_cast<int64_t>(
      std::clamp<Int128>(debt, Int128{-kMaxDebt}, Int128{kMaxDebt}));
}

// Both round in the direction of their name. REQUIRES: divisor > 0.
Int128 FloorDivide(Int128 value, Int128 divisor) {
  const Int128 quotient = value / divisor;
  return quotient - (value % divisor < 0);
}
Int128 CeilDivideSigned(Int128 value, Int128 divisor) {
  const Int128 quotient = value / divisor;
  return quotient + (value % divisor > 0);
}

}  // namespace

QuotaTree::QuotaTree(std::span<const uint64_t> quanta,
                     std::span<const int64_t> debts)
    : leaf_parent_(quanta.size(), kNone) {
  PONIENTE_CHECK(quanta.size() < kLeafBit) << quanta.size();
  PONIENTE_CHECK(debts.empty() || debts.size() == quanta.size())
      << debts.size() << " debts, " << quanta.size() << " quanta";
  Uint128 sum = 0;
  for (const uint64_t q : quanta) sum += q;
  PONIENTE_CHECK(sum == kTotal) << "quanta must sum to 2^62";
  Join(quanta, debts);
  OrderLeaves();
}

// Builds the tree by Huffman's algorithm with two queues (docs/index-math.md
// 2.2): leaves sorted by weight, and inner nodes, which are created in order of
// weight. At equal weights leaves come first.
void QuotaTree::Join(std::span<const uint64_t> quanta,
                     std::span<const int64_t> debts) {
  std::vector<Subtree> leaves;
  for (uint32_t i = 0; i < quanta.size(); ++i) {
    if (quanta[i] == 0) continue;
    leaves.push_back(
        {i | kLeafBit, quanta[i], debts.empty() ? 0 : ClampDebt(debts[i])});
  }
  // The sort is stable: equal weights stay in canonical order.
  std::stable_sort(
      leaves.begin(), leaves.end(),
      [](const Subtree& a, const Subtree& b) { return a.weight < b.weight; });
  std::vector<Subtree> joined;
  joined.reserve(leaves.size());
  nodes_.reserve(leaves.size() - 1);
  size_t next_leaf = 0;
  size_t next_joined = 0;
  // The lighter of the two fronts; on a tie the leaf, which was there first.
  const auto take_lightest = [&] {
    const bool leaf = next_leaf < leaves.size() &&
                      (next_joined == joined.size() ||
                       leaves[next_leaf].weight <= joined[next_joined].weight);
    return leaf ? leaves[next_leaf++] : joined[next_joined++];
  };
  for (size_t made = 0; made + 1 < leaves.size(); ++made) {
    // The lighter subtree becomes the left child.
    const Subtree left = take_lightest();
    const Subtree right = take_lightest();
    const auto number = static_cast<uint32_t>(made);
    // W_v and D_v (2.4): sums over both children.
    const uint64_t weight = left.weight + right.weight;
    const int64_t debt = ClampDebt(Int128{left.debt} + right.debt);
    // P_v = (2^64 * W_left + W_v) / (2 * W_v): the left child's share in units
    // of 2^-63, rounded to the nearest (2.2).
    const auto share = static_cast<uint64_t>(
        ((Uint128{left.weight} << 64) + weight) / (Uint128{weight} * 2));
    // P_v * D_v >> 63: the part of the node's debt that the left share already
    // repays. The rest of D_left goes into the phase (2.4).
    const auto paid = static_cast<int64_t>((Int128{share} * debt) >> 63);
    // phi_v = 2^47 + D_left - (P_v * D_v >> 63); one half without debts.
    nodes_.push_back(
        {share, kHalf + left.debt - paid, left.link, right.link, kNone});
    for (const Subtree& child : {left, right}) {
      if (child.link & kLeafBit) {
        leaf_parent_[child.link & ~kLeafBit] = number;
      } else {
        nodes_[child.link].parent = number;
      }
    }
    joined.push_back({number, weight, debt});
  }
  root_ = take_lightest().link;
}

// Lists the leaves from left to right: depth first, left child first.
void QuotaTree::OrderLeaves() {
  std::vector<uint32_t> open = {root_};
  while (!open.empty()) {
    const uint32_t link = open.back();
    open.pop_back();
    if (link & kLeafBit) {
      leaves_.push_back(link & ~kLeafBit);
    } else {
      open.push_back(nodes_[link].right);
      open.push_back(nodes_[link].left);
    }
  }
}

// left_v(m) of docs/index-math.md 2.2: how many of a node's first m samples go
// to the left child.
uint64_t QuotaTree::LeftCount(const Node& node, uint64_t count) {
  // m * P_v + phi_v * 2^15, in units of 2^-63.
  const Int128 exact =
      Int128{count} * node.left_share + (Int128{node.phase} << kPhaseShift);
  // Rounds down to whole samples; never fewer than 0 or more than m.
  return static_cast<uint64_t>(
      std::clamp<Int128>(exact >> 63, Int128{0}, Int128{count}));
}

// locate(k) of docs/index-math.md 2.2: from the root with m = k down to a leaf.
Draw QuotaTree::Locate(uint64_t position) const {
  PONIENTE_CHECK(position < kMaxPosition) << position;
  uint32_t link = root_;
  uint64_t m = position;
  while (!(link & kLeafBit)) {
    const Node& node = nodes_[link];
    const uint64_t left = LeftCount(node, m);
    // Sample m goes left if one more of the first m + 1 samples does.
    const bool goes_left = LeftCount(node, m + 1) > left;
    // Its number among the samples of the child that it goes to.
    m = goes_left ? left : m - left;
    link = goes_left ? node.left : node.right;
  }
  return {link & ~kLeafBit, m};
}

int QuotaTree::PathTo(uint32_t component, uint32_t (&path)[kMaxDepth]) const {
  uint32_t reversed[kMaxDepth];
  int depth = 0;
  uint32_t link = component | kLeafBit;
  for (uint32_t parent = leaf_parent_[component]; parent != kNone;
       parent = nodes_[parent].parent) {
    PONIENTE_CHECK(depth < kMaxDepth) << "tree too deep";
    reversed[depth++] = link;
    link = parent;
  }
  std::reverse_copy(reversed, reversed + depth, path);
  return depth;
}

// C_i(k) of docs/index-math.md 2.2: the path to the leaf is given, so m only
// has to be split at each node.
uint64_t QuotaTree::Count(uint32_t component, uint64_t position) const {
  PONIENTE_CHECK(component < leaf_parent_.size()) << component;
  PONIENTE_CHECK(position <= kMaxPosition) << position;
  if (!HasWeight(component)) return 0;
  uint32_t path[kMaxDepth];
  const int depth = PathTo(component, path);
  uint64_t m = position;
  uint32_t link = root_;
  for (int i = 0; i < depth; ++i) {
    const Node& node = nodes_[link];
    const uint64_t left = LeftCount(node, m);
    m = path[i] == node.left ? left : m - left;
    link = path[i];
  }
  return m;
}

// position(i, n) of docs/index-math.md 2.2: from the leaf with m = n up to the
// root.
std::optional<uint64_t> QuotaTree::PositionOf(uint32_t component,
                                              uint64_t ordinal) const {
  PONIENTE_CHECK(component < leaf_parent_.size()) << component;
  if (!HasWeight(component) || ordinal >= kMaxPosition) return std::nullopt;
  Int128 m = ordinal;
  uint32_t link = component | kLeafBit;
  for (uint32_t parent = leaf_parent_[component]; parent != kNone;
       parent = nodes_[parent].parent) {
    const Node& node = nodes_[parent];
    const Int128 phase = Int128{node.phase} << kPhaseShift;
    // The smallest number of this node's samples of which m + 1 go to the
    // child: (m + 1) * 2^63 <= count * P + F, solved for count, on the left;
    // count - left(count) >= m + 1 on the right.
    const Int128 count =
        link == node.left
            ? CeilDivideSigned((m + 1) * kShareUnit - phase, node.left_share)
            : FloorDivide(m * kShareUnit + phase,
                          kShareUnit - node.left_share) +
                  1;
    // At least m + 1 samples are needed; the last of them is the sample sought.
    m = std::max<Int128>(m + 1, count) - 1;
    if (m >= kMaxPosition) return std::nullopt;
    link = parent;
  }
  return static_cast<uint64_t>(m);
}

// at(k) of docs/index-math.md 2.3: narrows [begin, end) and the slot down to a
// leaf.
Draw QuotaTree::At(uint64_t begin, uint64_t end, uint64_t slot) const {
  PONIENTE_CHECK(begin < kMaxPosition && slot < end - begin)
      << begin << ' ' << end << ' ' << slot;
  uint32_t link = root_;
  while (!(link & kLeafBit)) {
    const Node& node = nodes_[link];
    const uint64_t left_begin = LeftCount(node, begin);
    const uint64_t left_end = LeftCount(node, end);
    // The slots of the left subtree come first.
    const uint64_t count = left_end - left_begin;
    if (slot < count) {
      begin = left_begin;
      end = left_end;
      link = node.left;
    } else {
      slot -= count;
      // right_v(m) = m - left_v(m) at both ends.
      begin -= left_begin;
      end -= left_end;
      link = node.right;
    }
  }
  return {link & ~kLeafBit, begin + slot};
}

// find(i, n) of docs/index-math.md 2.3, inside one block.
uint64_t QuotaTree::SlotOf(uint64_t begin, uint64_t end,
                           const Draw& draw) const {
  PONIENTE_CHECK(draw.component < leaf_parent_.size() &&
                 HasWeight(draw.component))
      << draw.component;
  uint32_t path[kMaxDepth];
  const int depth = PathTo(draw.component, path);
  uint64_t slot = 0;
  uint32_t link = root_;
  for (int i = 0; i < depth; ++i) {
    const Node& node = nodes_[link];
    const uint64_t left_begin = LeftCount(node, begin);
    const uint64_t left_end = LeftCount(node, end);
    if (path[i] == node.left) {
      begin = left_begin;
      end = left_end;
    } else {
      // The slots of the left sibling lie before those of this subtree.
      slot += left_end - left_begin;
      begin -= left_begin;
      end -= left_end;
    }
    link = path[i];
  }
  PONIENTE_CHECK(draw.ordinal >= begin && draw.ordinal < end)
      << draw.ordinal << " outside " << begin << " to " << end;
  return slot + (draw.ordinal - begin);
}

// Expand() for requests that reach most leaves: goes through all nodes, parents
// first, without a branch that depends on the counts.
void QuotaTree::ExpandAll(uint64_t begin, uint64_t end,
                          std::vector<DrawRun>* runs) const {
  struct Part {
    uint64_t begin;
    uint64_t end;
  };
  // Ranges of the nodes, by number, then of the leaves, by component.
  std::vector<Part> parts(nodes_.size() + leaf_parent_.size());
  const auto part_of = [&](uint32_t link) -> Part& {
    // Bit 31 is kLeafBit: leaves lie behind the nodes.
    const uint32_t number = link & ~kLeafBit;
    return parts[number + (link >> 31) * nodes_.size()];
  };
  part_of(root_) = {begin, end};
  // A node is created after its children, so it has a greater number.
  for (size_t i = nodes_.size(); i-- > 0;) {
    const Node& node = nodes_[i];
    const Part part = parts[i];
    const uint64_t left_begin = LeftCount(node, part.begin);
    const uint64_t left_end = LeftCount(node, part.end);
    // Splits [begin, end) of the node into its children's ranges (2.3).
    part_of(node.left) = {left_begin, left_end};
    part_of(node.right) = {part.begin - left_begin, part.end - left_end};
  }
  runs->resize(leaves_.size());
  size_t used = 0;
  // Components follow one another in the order of the leaves.
  uint64_t slot = 0;
  for (const uint32_t component : leaves_) {
    const Part part = parts[nodes_.size() + component];
    const uint64_t count = part.end - part.begin;
    (*runs)[used] = {component, slot, part.begin, count};
    slot += count;
    // An empty run is overwritten by the next one.
    used += count > 0;
  }
  runs->resize(used);
}

void QuotaTree::Expand(uint64_t begin, uint64_t end,
                       std::vector<DrawRun>* runs) const {
  PONIENTE_CHECK(begin <= end && begin <= kMaxPosition) << begin << ' ' << end;
  struct Part {
    uint32_t link;
    uint64_t begin;
    uint64_t end;
  };
  // With at least one sample per leaf, most leaves are reached anyway.
  if (end - begin >= leaves_.size()) return ExpandAll(begin, end, runs);
  runs->clear();
  // Right siblings along the path to the current part.
  Part open[kMaxDepth];
  int depth = 0;
  open[depth++] = {root_, begin, end};
  uint64_t slot = 0;
  while (depth > 0) {
    const Part part = open[--depth];
    if (part.begin == part.end) continue;
    if (part.link & kLeafBit) {
      const uint64_t count = part.end - part.begin;
      runs->push_back({part.link & ~kLeafBit, slot, part.begin, count});
      slot += count;
      continue;
    }
    const Node& node = nodes_[part.link];
    const uint64_t left_begin = LeftCount(node, part.begin);
    const uint64_t left_end = LeftCount(node, part.end);
    PONIENTE_CHECK(depth + 2 <= kMaxDepth) << "tree too deep";
    open[depth++] = {node.right, part.begin - left_begin, part.end - left_end};
    open[depth++] = {node.left, left_begin, left_end};
  }
}

}  // namespace poniente
