// SPDX-License-Identifier: Apache-2.0
#include "index/packing/bin_plan.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "index/part_at.h"
#include "util/check.h"
#include "util/rounding.h"

namespace poniente::internal {
namespace {

// Numbers below a limit, and the least of them from a number on.
class NumberSet {
 public:
  explicit NumberSet(size_t limit)
      : words_(limit / 64 + 1), summary_(words_.size() / 64 + 1) {}

  void Insert(size_t number) {
    words_[number / 64] |= uint64_t{1} << number % 64;
    summary_[number / 4096] |= uint64_t{1} << number / 64 % 64;
  }
  void Erase(size_t number) {
    words_[number / 64] &= ~(uint64_t{1} << number % 64);
    if (words_[number / 64] != 0) return;
    summary_[number / 4096] &= ~(uint64_t{1} << number / 64 % 64);
  }
  // Returns the least number of the set that is at least `number`; SIZE_MAX if
  // there is none. REQUIRES: number < limit.
  size_t From(size_t number) const {
    const uint64_t here = words_[number / 64] >> number % 64;
    if (here != 0) return number + std::countr_zero(here);
    size_t word = number / 64 + 1;
    if (word >= words_.size()) return SIZE_MAX;
    uint64_t some = summary_[word / 64] >> word % 64 << word % 64;
    for (size_t at = word / 64;; some = summary_[at]) {
      if (some != 0) {
        word = at * 64 + std::countr_zero(some);
        return word * 64 + std::countr_zero(words_[word]);
      }
      if (++at == summary_.size()) return SIZE_MAX;
    }
  }

 private:
  std::vector<uint64_t> words_;
  std::vector<uint64_t> summary_;  // bit w: words_[w] is not 0
};

}  // namespace

// The groups of bins while pieces are laid, class by class, the largest first.
// A bin is full when not even the smallest piece fits, or when it has as many
// pieces as a bin may have.
class BinPacker {
 public:
  BinPacker(const BinRule& rule, BinPlan* plan)
      : rule_(rule),
        max_pieces_(rule.max_pieces == 0 ? UINT32_MAX : rule.max_pieces),
        plan_(*plan),
        levels_(size_t{rule.bin_units} + 1),
        used_levels_(size_t{rule.bin_units} + 1) {}

  void PackAll() {
    for (const SizeClass& each : plan_.classes_) {
      volume_ += each.units * each.count;
      if (each.count > 0) least_ = each.units;
    }
    for (const SizeClass& each : plan_.classes_) {
      plan_.first_node_.push_back(static_cast<uint32_t>(plan_.nodes_.size()));
      LayClass(each);
    }
    plan_.first_node_.push_back(static_cast<uint32_t>(plan_.nodes_.size()));
    for (size_t left = used_levels_.From(0); left != SIZE_MAX;
         left = used_levels_.From(left)) {
      plan_.groups_.push_back(Final(Pop(left)));
    }
    std::sort(plan_.groups_.begin(), plan_.groups_.end(),
              [](const BinGroup& a, const BinGroup& b) {
                return a.first_bin < b.first_bin;
              });
    for (const BinGroup& group : plan_.groups_) {
      plan_.max_pieces_ = std::max(plan_.max_pieces_, group.pieces);
    }
  }

 private:
  // Consecutive bins of equal contents.
  struct OpenGroup {
    uint64_t first_bin = 0;
    uint64_t bins = 0;
    uint32_t left = 0;
    int32_t node = -1;
    uint32_t pieces = 0;
  };
  struct LaterBin {
    bool operator()(const OpenGroup& a, const OpenGroup& b) const {
      return a.first_bin > b.first_bin;
    }
  };

  static BinGroup Final(const OpenGroup& group) {
    return {group.first_bin, group.node, group.left, group.pieces};
  }

  void LayClass(const SizeClass& each) {
    const uint32_t u = each.units;
    const uint32_t visit = std::max(1u, rule_.bin_units / rule_.parts / u);
    uint64_t slot = 0;
    while (slot < each.count) {
      const size_t left = used_levels_.From(u);
      OpenGroup group;
      if (left != SIZE_MAX) {
        group = Pop(left);
      } else if (!visited_.empty()) {
        PushVisited();  // the next round of visits
        continue;
      } else {
        group = Open(u, each.count - slot, visit);
      }
      const uint32_t most =
          std::min({group.left / u, max_pieces_ - group.pieces, visit});
      const uint64_t full = std::min(group.bins, (each.count - slot) / most);
      if (full > 0) slot = Lay(u, slot, full, most, &group);
      if (group.bins > 0 && slot < each.count) {  // too few are left for a bin
        const auto last = static_cast<uint32_t>(each.count - slot);
        slot = Lay(u, slot, 1, last, &group);
      }
      if (group.bins > 0) Push(group);
    }
    PushVisited();
  }

  // Opens bins for a class of which `todo` pieces are not laid: no more than it
  // fills with one visit each; at least as many as it would fill by itself or,
  // if more, as the pieces not laid need beside the room there is.
  OpenGroup Open(uint32_t u, uint64_t todo, uint32_t visit) {
    const uint32_t full = std::min(rule_.bin_units / u, max_pieces_);
    const uint64_t missing = volume_ > room_ ? volume_ - room_ : 0;
    const uint64_t bins =
        std::min(CeilDivide(todo, std::min(full, visit)),
                 std::max(CeilDivide(todo, full), missing / rule_.bin_units));
    OpenGroup group;
    group.first_bin = plan_.num_bins_;
    group.bins = bins;
    group.left = rule_.bin_units;
    plan_.num_bins_ += bins;
    room_ += bins * rule_.bin_units;
    return group;
  }

  // Lays `each` pieces into the first `bins` bins of the group, and takes them
  // out of it. Returns the next slot.
  uint64_t Lay(uint32_t u, uint64_t slot, uint64_t bins, uint32_t each,
               OpenGroup* group) {
    OpenGroup laid = *group;
    laid.bins = bins;
    group->first_bin += bins;
    group->bins -= bins;
    plan_.nodes_.push_back(
        {slot, laid.first_bin, u, each, laid.pieces, laid.node});
    laid.node = static_cast<int32_t>(plan_.nodes_.size() - 1);
    laid.pieces += each;
    laid.left -= each * u;
    volume_ -= bins * each * u;
    room_ -= bins * each * u;
    if (laid.left < least_ || laid.pieces >= max_pieces_) {
      room_ -= bins * laid.left;
      plan_.groups_.push_back(Final(laid));
    } else if (laid.left >= u) {
      visited_.push_back(laid);
    } else {
      Push(laid);
    }
    return slot + bins * each;
  }

  void Push(const OpenGroup& group) {
    std::vector<OpenGroup>& level = levels_[group.left];
    if (level.empty()) used_levels_.Insert(group.left);
    level.push_back(group);
    std::push_heap(level.begin(), level.end(), LaterBin());
  }

  // Takes the group of the lowest bins out of a level.
  OpenGroup Pop(size_t left) {
    std::vector<OpenGroup>& level = levels_[left];
    std::pop_heap(level.begin(), level.end(), LaterBin());
    const OpenGroup group = level.back();
    level.pop_back();
    if (level.empty()) used_levels_.Erase(left);
    return group;
  }

  void PushVisited() {
    for (const OpenGroup& group : visited_) Push(group);
    visited_.clear();
  }

  const BinRule rule_;
  const uint32_t max_pieces_;
  BinPlan& plan_;
  uint32_t least_ = 0;   // size of the smallest piece
  uint64_t volume_ = 0;  // units of all pieces that are not laid
  uint64_t room_ = 0;    // units that are left in bins that are not full
  // By the units left, bins that are not full and that this round of the class
  // has not visited: heaps, the lowest bin on top.
  std::vector<std::vector<OpenGroup>> levels_;
  NumberSet used_levels_;
  std::vector<OpenGroup> visited_;
};

BinPlan::BinPlan(std::vector<SizeClass> classes, const BinRule& rule)
    : classes_(std::move(classes)) {
  PONIENTE_CHECK(rule.bin_units >= 1 && rule.bin_units <= kMaxBinUnits &&
                 rule.parts >= 1)
      << rule.bin_units << ' ' << rule.parts;
  BinPacker(rule, this).PackAll();
  nodes_.shrink_to_fit();
  groups_.shrink_to_fit();
}

uint64_t BinPlan::memory_bytes() const {
  return classes_.capacity() * sizeof(SizeClass) +
         first_node_.capacity() * sizeof(uint32_t) +
         nodes_.capacity() * sizeof(BinNode) +
         groups_.capacity() * sizeof(BinGroup);
}

const BinGroup& BinPlan::GroupOf(uint64_t bin) const {
  return PartAt(groups_, bin, &BinGroup::first_bin);
}

uint64_t BinPlan::BinsOf(size_t group) const {
  const uint64_t end =
      group + 1 < groups_.size() ? groups_[group + 1].first_bin : num_bins_;
  return end - groups_[group].first_bin;
}

BinPlace BinPlan::PlaceOf(size_t index, uint64_t slot) const {
  const std::span<const BinNode> nodes = std::span(nodes_).subspan(
      first_node_[index], first_node_[index + 1] - first_node_[index]);
  const BinNode& node = PartAt(nodes, slot, &BinNode::first_slot);
  const uint64_t at = slot - node.first_slot;
  return {node.first_bin + at / node.per_bin,
          node.before + static_cast<uint32_t>(at % node.per_bin)};
}

}  // namespace poniente::internal
