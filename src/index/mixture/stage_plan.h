// SPDX-License-Identifier: Apache-2.0
// Which component serves which sample of a run whose weights change by stages.
//
// Each stage has a quota tree of its own and restarts the grid of blocks; what
// a component was owed when the stage before it ended goes into the phases of
// the new tree, so that errors do not add up. A stage is a function of those
// before it only: one appended later changes no block that it does not cut.
// Ordinals count through all stages. Part of the order (kOrderVersion).

#ifndef PONIENTE_INDEX_MIXTURE_STAGE_PLAN_H_
#define PONIENTE_INDEX_MIXTURE_STAGE_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "index/mixture/block_order.h"
#include "index/mixture/quota_tree.h"

namespace poniente::internal {

// From sample `start` on, components have these parts of 2^62, given in
// canonical order.
struct PlanStage {
  uint64_t start = 0;
  std::vector<uint64_t> quanta;
};

// Components are numbered in canonical order throughout. The plan does not know
// the seed, so that mixtures of different seeds share it: calls that depend on
// the order inside a block take it.
//
// Determinism: block size, stages and seed decide; integers only.
// Thread safety: immutable; any number of threads.
// Complexity: Create() O(K log K) and about 56 bytes per component, per stage;
//     each question O(log stages + depth of the tree).
// Errors: a sample at or beyond 2^62, or a component that does not exist, is
//     the caller's bug and aborts.
class StagePlan {
 public:
  static constexpr uint64_t kMaxBlockSize = 65536;

  // InvalidArgument unless 1 <= block_size <= kMaxBlockSize, the first stage
  // starts at 0, starts increase strictly and lie below 2^62, and each stage
  // gives as many quanta as the first, summing to 2^62.
  static absl::StatusOr<std::shared_ptr<const StagePlan>> Create(
      uint64_t block_size, std::vector<PlanStage> stages);

  uint64_t block_size() const { return block_size_; }
  size_t components() const { return stages_.front().quanta.size(); }
  size_t stages() const { return stages_.size(); }
  uint64_t stage_start(size_t stage) const { return stages_[stage].start; }
  std::span<const uint64_t> quanta(size_t stage) const {
    return stages_[stage].quanta;
  }
  const QuotaTree& tree(size_t stage) const { return stages_[stage].tree; }
  // Samples of each component before the stage.
  std::span<const uint64_t> base(size_t stage) const {
    return stages_[stage].base;
  }

  // The draw that `sample` would be if blocks were not shuffled.
  Draw Locate(uint64_t sample) const;
  // Samples of `component` among the first `samples` of Locate()'s order, which
  // at block ends is the final order, too.
  uint64_t Count(uint32_t component, uint64_t samples) const;
  // The inverse of Locate(); nullopt if the run never serves that draw.
  std::optional<uint64_t> PositionOf(uint32_t component,
                                     uint64_t ordinal) const;

  Block BlockOf(uint64_t sample) const;
  // Borrows the plan.
  BlockOrder OrderOf(const Block& block, uint64_t seed) const {
    return BlockOrder(View(block.stage), block, seed);
  }
  // The block's slots as runs, replacing what `runs` held.
  void Expand(const Block& block, std::vector<DrawRun>* runs) const {
    ExpandBlock(View(block.stage), block, runs);
  }

  // The draw that `sample` is.
  Draw At(uint64_t sample, uint64_t seed) const;
  // The inverse of At(); nullopt if the run never serves that draw (or only in
  // a block that reaches beyond sample 2^62).
  std::optional<uint64_t> FindSample(uint32_t component, uint64_t ordinal,
                                     uint64_t seed) const;

  // Equal hashes mean that the samples before `sample`, and those that share a
  // block with them, are the same. `names` are the components' in canonical
  // order.
  uint64_t PrefixHash(uint64_t seed, std::span<const std::string> names,
                      uint64_t sample) const;

 private:
  struct Stage {
    uint64_t start;
    std::vector<uint64_t> quanta;
    std::vector<uint64_t> base;
    QuotaTree tree;
  };

  StagePlan(uint64_t block_size, std::vector<PlanStage> stages);

  size_t StageOf(uint64_t sample) const;
  StageView View(size_t stage) const {
    return {&stages_[stage].tree, stages_[stage].base, stages_[stage].start};
  }

  uint64_t block_size_;
  std::vector<Stage> stages_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_MIXTURE_STAGE_PLAN_H_
