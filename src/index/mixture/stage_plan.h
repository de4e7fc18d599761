// SPDX-License-Identifier: Apache-2.0
// The component that serves each sample of a run whose weights change by stages
// (docs/index-math.md 2.3 and 2.4).
//
// Each stage has its own quota tree and restarts the grid of blocks. The
// samples that a component is owed at the end of a stage enter the phases of
// the next tree, so that errors do not add up. A stage depends only on those
// before it: a stage appended later changes no block that it does not cut.
// Ordinals count through all stages. Part of the order (kOrderVersion).
//
// Stages never change once they are made, so plans that begin with the same
// stages share them: a run that is steered gets a plan per decision.

#ifndef PONIENTE_INDEX_MIXTURE_STAGE_PLAN_H_
#define PONIENTE_INDEX_MIXTURE_STAGE_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "index/int128.h"
#include "index/mixture/block_order.h"
#include "index/mixture/quota_tree.h"
#include "index/shared_list.h"

namespace poniente::internal {

// The quanta of all components from sample `start` on, in canonical order.
struct PlanStage {
  uint64_t start = 0;
  std::vector<uint64_t> quanta;
};

// A stage as the user stated it: no step of a ramp, and no cut.
struct StatedStage {
  uint64_t start = 0;
  // First sample behind its ramp; 0 if it has none.
  uint64_t ramp_end = 0;
  // How errors name the stage and the length of its ramp; empty for the first
  // stage, and without a ramp.
  std::string label = {};
  std::string ramp_label = {};
  std::vector<double> weights = {};  // or scores; in canonical order
  double temperature = 1;            // behind the ramp
  // As MixtureStage states them.
  uint32_t ramp_blocks = 0;
  bool ramps_temperature = false;
};

// The stages of a mixture. Components are numbered in canonical order
// throughout. The plan does not know the seed, so mixtures of different seeds
// can share it; calls that depend on the order inside a block take the seed.
//
// Determinism: block size, stages and seed decide; integers only.
// Thread safety: immutable; any number of threads.
// Complexity: Create() O(K log K) and about 56 bytes per component, for each
//     stage, and 8 for each stated one; With() the same for the stages that it
//     adds, and 8 bytes for each that it shares; a question O(log stages +
//     depth of the tree).
// Errors: a sample at or beyond 2^62 and a component that does not exist are
//     bugs of the caller and abort.
class StagePlan {
 public:
  static constexpr uint64_t kMaxBlockSize = 65536;

  // Returns a plan. InvalidArgument unless 1 <= block_size <= kMaxBlockSize,
  // the first stage starts at 0, starts increase strictly and lie below 2^62,
  // and each stage has as many quanta as the first, with the sum 2^62. `stated`
  // says what the stages were made from; it decides no sample.
  static absl::StatusOr<std::shared_ptr<const StagePlan>> Create(
      uint64_t block_size, std::vector<PlanStage> stages,
      std::vector<StatedStage> stated = {});

  // Returns the plan that has this plan's stages that begin before `stages`,
  // which it shares, and then `stages`; so also for the stated ones. Equal to
  // the plan that Create() makes of all of them. Errors as Create(). REQUIRES:
  // `stages` are not empty and begin above 0.
  absl::StatusOr<std::shared_ptr<const StagePlan>> With(
      std::vector<PlanStage> stages, std::vector<StatedStage> stated) const;

  uint64_t block_size() const { return block_size_; }
  size_t components() const { return stages_.front().quanta.size(); }
  size_t stages() const { return stages_.size(); }
  uint64_t stage_start(size_t stage) const { return starts_[stage]; }
  std::span<const uint64_t> quanta(size_t stage) const {
    return stages_[stage].quanta;
  }
  const QuotaTree& tree(size_t stage) const { return stages_[stage].tree; }
  // Returns the samples of each component before the stage.
  std::span<const uint64_t> base(size_t stage) const {
    return stages_[stage].base;
  }

  // Returns the stages as they were stated; empty if Create() was not told of
  // them.
  const SharedList<StatedStage>& stated() const { return stated_; }
  // Returns the number of the stated stage that a sample lies in. REQUIRES:
  // there are some.
  size_t StatedAt(uint64_t sample) const {
    return stated_.CountUntil([sample](const StatedStage& stage) {
      return stage.start > sample;
    }) - 1;
  }

  // Returns the draw that `sample` would be if blocks were not shuffled.
  Draw Locate(uint64_t sample) const;
  // Returns the samples of `component` among the first `samples` in Locate()'s
  // order, which at the ends of blocks is also the final order.
  uint64_t Count(uint32_t component, uint64_t samples) const;
  // Inverts Locate(); nullopt if the run never serves that draw.
  std::optional<uint64_t> PositionOf(uint32_t component,
                                     uint64_t ordinal) const;

  Block BlockOf(uint64_t sample) const;
  // Returns the order inside a block; it borrows the plan.
  BlockOrder OrderOf(const Block& block, uint64_t seed) const {
    return BlockOrder(View(block.stage), block, seed);
  }
  // Replaces `runs` by the block's slots, as runs.
  void Expand(const Block& block, std::vector<DrawRun>* runs) const {
    ExpandBlock(View(block.stage), block, runs);
  }

  // Returns the draw that `sample` is.
  Draw At(uint64_t sample, uint64_t seed) const;
  // Inverts At(); nullopt if the run never serves that draw, or only in a block
  // that reaches beyond sample 2^62.
  std::optional<uint64_t> FindSample(uint32_t component, uint64_t ordinal,
                                     uint64_t seed) const;

  // Returns a hash of what decides the samples before `sample` and those that
  // share a block with them: equal hashes mean equal samples. `names` are the
  // components' names in canonical order.
  uint64_t PrefixHash(uint64_t seed, std::span<const std::string> names,
                      uint64_t sample) const;

 private:
  struct Stage {
    uint64_t start;
    std::vector<uint64_t> quanta;
    std::vector<uint64_t> base;
    QuotaTree tree;
  };
  // What each component should have received of the samples before a stage.
  using Shares = std::vector<Uint128>;
  // The shares before every such many stages are kept; those before the stages
  // in between are added up from there.
  static constexpr size_t kSharesEvery = 32;

  explicit StagePlan(uint64_t block_size) : block_size_(block_size) {}

  void Append(std::vector<PlanStage> stages, std::vector<StatedStage> stated);
  Shares SharesBefore(size_t stage) const;
  size_t StageOf(uint64_t sample) const;
  StageView View(size_t stage) const {
    return {&stages_[stage].tree, stages_[stage].base, starts_[stage]};
  }

  uint64_t block_size_;
  std::vector<uint64_t> starts_;  // of the stages
  SharedList<Stage> stages_;
  SharedList<Shares> shares_;
  SharedList<StatedStage> stated_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_MIXTURE_STAGE_PLAN_H_
