// SPDX-License-Identifier: Apache-2.0
// Packs pieces of given sizes into bins, from the number of pieces of each size
// alone (docs/packing.md).

#ifndef PONIENTE_INDEX_PACKING_BIN_PLAN_H_
#define PONIENTE_INDEX_PACKING_BIN_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace poniente::internal {

// Pieces of one size.
struct SizeClass {
  uint32_t units = 0;  // the size of each piece
  uint64_t count = 0;

  friend bool operator==(const SizeClass&, const SizeClass&) = default;
};

struct BinRule {
  // Size of a bin: 1 to kMaxBinUnits.
  uint32_t bin_units = 0;
  // A visit lays pieces of one class of up to bin_units / parts units into a
  // bin. With 1, the result is that of best fit decreasing. A larger number
  // spreads pieces of one size over more bins.
  uint32_t parts = 64;
  // Most pieces of a bin; 0 for no limit.
  uint32_t max_pieces = 0;
};

inline constexpr uint32_t kMaxBinUnits = uint32_t{1} << 22;

// One visit of the plan: `per_bin` pieces of one class in each of consecutive
// bins. Slots, the places of the pieces of a class, are numbered in the order
// in which they are laid: bin b has slots first_slot + (b - first_bin) *
// per_bin + j, j < per_bin.
struct BinNode {
  uint64_t first_slot = 0;
  uint64_t first_bin = 0;
  uint32_t units = 0;
  uint32_t per_bin = 0;
  uint32_t before = 0;  // pieces that each of the bins has already
  int32_t parent = -1;  // number of the node that laid the last of them; or -1

  friend bool operator==(const BinNode&, const BinNode&) = default;
};

// Consecutive bins that hold pieces of the same sizes, up to the first bin of
// the next group. Their nodes are the last one and its parents.
struct BinGroup {
  uint64_t first_bin = 0;
  int32_t last_node = -1;
  uint32_t left = 0;  // units of each bin that stay empty
  uint32_t pieces = 0;

  friend bool operator==(const BinGroup&, const BinGroup&) = default;
};

// Where a slot lies.
struct BinPlace {
  uint64_t bin = 0;
  uint32_t piece = 0;  // its number in the bin

  friend bool operator==(const BinPlace&, const BinPlace&) = default;
};

// Which pieces each bin holds.
//
// Determinism: a pure function of what it was made from. It is part of the
//     order of packed windows.
// Thread safety: immutable; any number of threads.
class BinPlan {
 public:
  // Packs the pieces. `classes` has descending sizes. Complexity: O(nodes *
  // log(groups)); there are a few nodes per class, whatever the counts.
  // REQUIRES: sizes are 1 to rule.bin_units; the units of all pieces together
  // are below 2^61; parts >= 1.
  BinPlan(std::vector<SizeClass> classes, const BinRule& rule);

  uint64_t num_bins() const { return num_bins_; }
  std::span<const SizeClass> classes() const { return classes_; }
  std::span<const BinNode> nodes() const { return nodes_; }
  std::span<const BinGroup> groups() const { return groups_; }
  // Returns the most pieces that a bin has.
  uint32_t max_pieces() const { return max_pieces_; }
  uint64_t memory_bytes() const;

  // Returns the group of a bin. REQUIRES: bin < num_bins().
  const BinGroup& GroupOf(uint64_t bin) const;
  // Calls visit(node) for each node of a group, the last one first.
  template <class Visit>
  void ForEachNode(const BinGroup& group, const Visit& visit) const {
    for (int32_t n = group.last_node; n >= 0;) {
      const BinNode& node = nodes_[static_cast<size_t>(n)];
      visit(node);
      n = node.parent;
    }
  }
  // Returns the number of bins in group number `group`.
  uint64_t BinsOf(size_t group) const;
  // Returns where slot `slot` of class number `index` lies. REQUIRES: both
  // exist.
  BinPlace PlaceOf(size_t index, uint64_t slot) const;

 private:
  friend class BinPacker;

  std::vector<SizeClass> classes_;
  // Number of the first node of each class, and of all nodes at the end.
  std::vector<uint32_t> first_node_;
  std::vector<BinNode> nodes_;    // by class, then by first slot
  std::vector<BinGroup> groups_;  // by first bin
  uint64_t num_bins_ = 0;
  uint32_t max_pieces_ = 0;
};

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_PACKING_BIN_PLAN_H_
