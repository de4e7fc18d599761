// SPDX-License-Identifier: Apache-2.0
#include "index/mixture/stage_plan.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "index/int128.h"
#include "index/keyed_hash.h"
#include "poniente/version.h"
#include "util/check.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr uint64_t kMaxSample = QuotaTree::kMaxPosition;

// `start_before`: the start of the stage before it; null for the first one.
absl::Status CheckPlanStage(const PlanStage& stage, size_t number,
                            const uint64_t* start_before, size_t components) {
  if (start_before == nullptr && stage.start != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("stage 0 must start at sample 0, got ", stage.start));
  }
  if (start_before != nullptr && stage.start <= *start_before) {
    return absl::InvalidArgumentError(
        absl::StrCat("stage ", number, " starts at sample ", stage.start,
                     ", which is not after the start of the stage before it, ",
                     *start_before));
  }
  if (stage.start >= kMaxSample) {
    return absl::InvalidArgumentError(
        absl::StrCat("stage ", number, " starts at sample ", stage.start,
                     ", which is not below 2^62"));
  }
  if (stage.quanta.size() != components) {
    return absl::InvalidArgumentError(
        absl::StrCat("stage ", number, " has quanta for ", stage.quanta.size(),
                     " components, stage 0 for ", components));
  }
  Uint128 sum = 0;
  for (const uint64_t q : stage.quanta) sum += q;
  if (sum != QuotaTree::kTotal) {
    return absl::InvalidArgumentError(
        absl::StrCat("quanta of stage ", number, " do not sum to 2^62"));
  }
  return absl::OkStatus();
}

// Checks stages of which the first is number `first` of the plan;
// `start_before` is the start of the one before it, if there is one.
absl::Status CheckPlanStages(const std::vector<PlanStage>& stages, size_t first,
                             const uint64_t* start_before, size_t components) {
  for (size_t s = 0; s < stages.size(); ++s) {
    PONIENTE_RETURN_IF_ERROR(
        CheckPlanStage(stages[s], first + s, start_before, components));
    start_before = &stages[s].start;
  }
  return absl::OkStatus();
}

// Adds what each component should receive of that many samples to I_i of
// docs/index-math.md 2.4, in units of 2^-62 samples.
void AddShares(std::span<const uint64_t> quanta, uint64_t samples,
               std::vector<Uint128>* shares) {
  for (size_t i = 0; i < quanta.size(); ++i) {
    (*shares)[i] += Uint128{quanta[i]} * samples;
  }
}

// Returns D_i of docs/index-math.md 2.4 in units of 2^-48 samples; `counts` are
// the samples that the components did receive.
std::vector<int64_t> Debts(std::span<const Uint128> shares,
                           std::span<const uint64_t> counts) {
  std::vector<int64_t> debts(shares.size());
  for (size_t i = 0; i < shares.size(); ++i) {
    // I_i(t_s) - C_i(t_s) * 2^62, then from units of 2^-62 to 2^-48.
    const Int128 debt =
        static_cast<Int128>(shares[i]) - (Int128{counts[i]} << 62);
    debts[i] = static_cast<int64_t>(debt >> 14);
  }
  return debts;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const StagePlan>> StagePlan::Create(
    uint64_t block_size, std::vector<PlanStage> stages,
    std::vector<StatedStage> stated) {
  if (block_size < 1 || block_size > kMaxBlockSize) {
    return absl::InvalidArgumentError(absl::StrCat(
        "block size must be 1 to ", kMaxBlockSize, ", got ", block_size));
  }
  if (stages.empty()) {
    return absl::InvalidArgumentError("a plan needs at least one stage");
  }
  PONIENTE_RETURN_IF_ERROR(
      CheckPlanStages(stages, 0, nullptr, stages[0].quanta.size()));
  std::shared_ptr<StagePlan> plan(new StagePlan(block_size));
  plan->Append(std::move(stages), std::move(stated));
  return std::shared_ptr<const StagePlan>(std::move(plan));
}

absl::StatusOr<std::shared_ptr<const StagePlan>> StagePlan::With(
    std::vector<PlanStage> stages, std::vector<StatedStage> stated) const {
  PONIENTE_CHECK(!stages.empty() && stages.front().start > 0);
  const auto end =
      std::lower_bound(starts_.begin(), starts_.end(), stages.front().start) -
      starts_.begin();
  const auto kept = static_cast<size_t>(end);
  PONIENTE_RETURN_IF_ERROR(
      CheckPlanStages(stages, kept, &starts_[kept - 1], components()));
  std::shared_ptr<StagePlan> plan(new StagePlan(block_size_));
  plan->starts_.assign(starts_.begin(), starts_.begin() + end);
  plan->stages_ = stages_.First(kept);
  plan->shares_ = shares_.First((kept + kSharesEvery - 1) / kSharesEvery);
  plan->stated_ = stated_.First(
      stated_.CountUntil([from = stages.front().start](const auto& stage) {
        return stage.start >= from;
      }));
  plan->Append(std::move(stages), std::move(stated));
  return std::shared_ptr<const StagePlan>(std::move(plan));
}

StagePlan::Shares StagePlan::SharesBefore(size_t stage) const {
  const size_t kept = stage / kSharesEvery;
  Shares shares = shares_[kept];
  for (size_t s = kept * kSharesEvery; s < stage; ++s) {
    AddShares(stages_[s].quanta, starts_[s + 1] - starts_[s], &shares);
  }
  return shares;
}

void StagePlan::Append(std::vector<PlanStage> stages,
                       std::vector<StatedStage> stated) {
  for (StatedStage& one : stated) stated_.Append(std::move(one));
  Shares shares(stages.front().quanta.size());
  std::vector<uint64_t> base(shares.size());
  if (!stages_.empty()) {
    shares = SharesBefore(stages_.size() - 1);
    base = stages_.back().base;
  }
  starts_.reserve(starts_.size() + stages.size());
  std::vector<DrawRun> runs;
  for (PlanStage& stage : stages) {
    if (!stages_.empty()) {
      const Stage& last = stages_.back();
      const uint64_t samples = stage.start - last.start;
      // I_i up to the start of this stage.
      AddShares(last.quanta, samples, &shares);
      // C_i(t_s): all draws of the stage before, added to its own base.
      last.tree.Expand(0, samples, &runs);
      for (const DrawRun& run : runs) base[run.component] += run.count;
    }
    if (stages_.size() % kSharesEvery == 0) {
      shares_.Append(shares);
    }
    QuotaTree tree(stage.quanta, Debts(shares, base));
    starts_.push_back(stage.start);
    stages_.Append(
        {stage.start, std::move(stage.quanta), base, std::move(tree)});
  }
}

size_t StagePlan::StageOf(uint64_t sample) const {
  PONIENTE_CHECK(sample < kMaxSample) << sample;
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), sample);
  return static_cast<size_t>(after - starts_.begin()) - 1;
}

// locate() inside the stage; ordinals count on from C_i(t_s).
Draw StagePlan::Locate(uint64_t sample) const {
  const Stage& stage = stages_[StageOf(sample)];
  Draw draw = stage.tree.Locate(sample - stage.start);
  draw.ordinal += stage.base[draw.component];
  return draw;
}

uint64_t StagePlan::Count(uint32_t component, uint64_t samples) const {
  PONIENTE_CHECK(component < components()) << component;
  if (samples == 0) return 0;
  const Stage& stage = stages_[StageOf(samples - 1)];
  return stage.base[component] +
         stage.tree.Count(component, samples - stage.start);
}

// position(i, n) in the last stage with C_i(t_s) <= n (docs/index-math.md 2.3).
std::optional<uint64_t> StagePlan::PositionOf(uint32_t component,
                                              uint64_t ordinal) const {
  PONIENTE_CHECK(component < components()) << component;
  const size_t after = stages_.CountUntil(
      [&](const Stage& stage) { return stage.base[component] > ordinal; });
  const Stage& stage = stages_[after - 1];
  const std::optional<uint64_t> position =
      stage.tree.PositionOf(component, ordinal - stage.base[component]);
  if (!position || *position >= kMaxSample - stage.start) return std::nullopt;
  return stage.start + *position;
}

Block StagePlan::BlockOf(uint64_t sample) const {
  const size_t s = StageOf(sample);
  const uint64_t start = starts_[s];
  // f = t_s + j * B: the grid of blocks begins anew at every stage (2.3).
  const uint64_t first = start + (sample - start) / block_size_ * block_size_;
  // b = min(B, t_(s+1) - f).
  uint64_t size = block_size_;
  if (s + 1 < starts_.size()) size = std::min(size, starts_[s + 1] - first);
  return {static_cast<uint32_t>(s), first, size};
}

Draw StagePlan::At(uint64_t sample, uint64_t seed) const {
  return OrderOf(BlockOf(sample), seed).At(sample);
}

// find(i, n) of docs/index-math.md 2.3: the block by position(), then the place
// inside the block.
std::optional<uint64_t> StagePlan::FindSample(uint32_t component,
                                              uint64_t ordinal,
                                              uint64_t seed) const {
  const std::optional<uint64_t> position = PositionOf(component, ordinal);
  if (!position) return std::nullopt;
  const uint64_t sample =
      OrderOf(BlockOf(*position), seed).Find({component, ordinal});
  if (sample >= kMaxSample) return std::nullopt;
  return sample;
}

// The prefix of docs/index-math.md 2.6.
uint64_t StagePlan::PrefixHash(uint64_t seed,
                               std::span<const std::string> names,
                               uint64_t sample) const {
  PONIENTE_CHECK(names.size() == components())
      << names.size() << " names, " << components() << " components";
  // E = f + b of the block of sample k - 1; 0 for k = 0.
  uint64_t end = 0;
  if (sample > 0) {
    const Block block = BlockOf(sample - 1);
    end = block.first + block.size;
  }
  KeyHash hash(seed);
  hash.Add(kPrefixTag).Add(kOrderVersion).Add(block_size_).Add(end);
  for (size_t s = 0; s < stages_.size() && starts_[s] < end; ++s) {
    const Stage& stage = stages_[s];
    hash.Add(stage.start).Add(stage.tree.leaves().size());
    for (size_t i = 0; i < names.size(); ++i) {
      if (stage.quanta[i] > 0) hash.Add(names[i]).Add(stage.quanta[i]);
    }
  }
  return hash.key();
}

}  // namespace poniente::internal
