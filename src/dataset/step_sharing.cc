// SPDX-License-Identifier: Apache-2.0
#include "dataset/step_sharing.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>

#include "dataset/leaf_items.h"
#include "dataset/samples_by_leaf.h"
#include "index/int128.h"
#include "util/status_macros.h"

namespace poniente::internal {

absl::Status StepSharing::Check(const DatasetTree& tree,
                                const SampleSharing& sharing) {
  if (!sharing.even_work) return absl::OkStatus();
  const auto is_packed = [](const TreeLeaf& leaf) {
    return PackedItemsOf(leaf) != nullptr;
  };
  if (std::none_of(tree.leaves().begin(), tree.leaves().end(), is_packed)) {
    return absl::InvalidArgumentError(
        "even_work divides samples by the lengths of their documents, which "
        "only sources of packed documents know without reading; pack the "
        "documents of a source, or turn even_work off");
  }
  return absl::OkStatus();
}

StepSharing::StepSharing(const DatasetTree& tree, const SampleSharing& sharing)
    : tree_(tree), sharing_(sharing) {
  for (const TreeLeaf& leaf : tree.leaves()) {
    packed_.push_back(PackedItemsOf(leaf));
  }
}

absl::StatusOr<std::vector<uint64_t>> StepSharing::SamplesOf(
    const StepPlan& plan, uint32_t rank, uint32_t ranks) const {
  std::vector<uint64_t> samples;
  PONIENTE_RETURN_IF_ERROR(
      Find(plan, rank, ranks, /*may_read=*/true, &samples).status());
  return samples;
}

absl::StatusOr<bool> StepSharing::FindSquaredLengths(
    std::span<const LeafPosition> items, uint32_t seq_len, bool may_read,
    std::vector<uint64_t>* squares) const {
  squares->assign(items.size(), uint64_t{seq_len} * seq_len);
  std::vector<Position> positions;
  std::vector<uint64_t> of_leaf;
  for (const SamplesByLeaf::Group& group :
       SamplesByLeaf(items, packed_.size())) {
    if (packed_[group.leaf] == nullptr) continue;
    positions.clear();
    for (const uint32_t sample : group.samples) {
      positions.push_back(items[sample].position);
    }
    of_leaf.resize(positions.size());
    PONIENTE_ASSIGN_OR_RETURN(
        const bool found,
        packed_[group.leaf]->FindSquaredLengths(positions, may_read, of_leaf));
    if (!found) return false;
    for (size_t i = 0; i < of_leaf.size(); ++i) {
      (*squares)[group.samples[i]] = of_leaf[i];
    }
  }
  return true;
}

absl::StatusOr<bool> StepSharing::FindWork(const StepPlan& plan, bool may_read,
                                           std::vector<uint64_t>* work) const {
  std::vector<Position> positions(plan.batch_size);
  for (size_t i = 0; i < positions.size(); ++i) {
    positions[i].index = plan.first_sample + i;
  }
  std::vector<LeafPosition> items(positions.size());
  PONIENTE_RETURN_IF_ERROR(tree_.Resolve(positions, items));
  PONIENTE_ASSIGN_OR_RETURN(
      const bool found,
      FindSquaredLengths(items, plan.seq_len, may_read, work));
  if (!found) return false;
  for (uint64_t& one : *work) {
    one = static_cast<uint64_t>(
        std::min(Uint128{plan.seq_len} * sharing_.linear_cost + one,
                 Uint128{UINT64_MAX}));
  }
  return true;
}

absl::StatusOr<bool> StepSharing::Find(const StepPlan& plan, uint32_t rank,
                                       uint32_t ranks, bool may_read,
                                       std::vector<uint64_t>* samples) const {
  const BatchShare share = RankShare(plan.batch_size, rank, ranks);
  samples->resize(share.end - share.begin);
  if (!sharing_.even_work) {
    std::iota(samples->begin(), samples->end(),
              plan.first_sample + share.begin);
    return true;
  }
  std::vector<uint64_t> work;
  PONIENTE_ASSIGN_OR_RETURN(const bool found, FindWork(plan, may_read, &work));
  if (!found) return false;
  const std::vector<uint64_t> order = BalancedOrder(work, ranks);
  for (size_t i = 0; i < samples->size(); ++i) {
    (*samples)[i] = plan.first_sample + order[share.begin + i];
  }
  return true;
}

}  // namespace poniente::internal
