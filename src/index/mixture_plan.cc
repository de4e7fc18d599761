// SPDX-License-Identifier: Apache-2.0
#include "poniente/mixture_plan.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "index/int128.h"
#include "index/item_draws.h"
#include "index/keyed_hash.h"
#include "index/stage_plan.h"
#include "index/weights.h"
#include "util/check.h"
#include "util/nearest_name.h"
#include "util/status_macros.h"

namespace poniente {

using internal::PlanStage;
using internal::StagePlan;

struct MixturePlan::State {
  // Starts of the stages as they were stated, the first 0.
  struct Temperature {
    uint64_t start;
    double value;
  };

  std::vector<std::string> names;
  std::shared_ptr<const StagePlan> plan;
  std::vector<Temperature> temperatures;
  std::vector<SeqLenChange> seq_lens;
  uint32_t max_seq_len = 0;
  bool trim = false;
  std::vector<internal::PartsChange> parts;
  uint64_t group_items = 0;
};

namespace {

constexpr uint64_t kDefaultRampSteps = 256;
constexpr uint64_t kMaxRampSteps = 65536;
// What all stages take, at about 64 bytes for each component.
constexpr internal::Uint128 kMaxPlanBytes = internal::Uint128{1} << 31;
constexpr uint64_t kStageBytes = 64;
constexpr uint64_t kMaxSamples = uint64_t{1} << 62;

using Components = std::vector<WeightedComponent>;

std::vector<std::string> NamesOf(const Components& components) {
  std::vector<std::string> names;
  names.reserve(components.size());
  for (const WeightedComponent& component : components) {
    names.push_back(component.name);
  }
  return names;
}

std::string StageLabel(const MixtureStage& stage) {
  return stage.name.empty()
             ? absl::StrCat("stage at sample ", stage.start)
             : absl::StrCat("stage '", stage.name, "' at sample ", stage.start);
}

// Turns the weights of one stage into quanta.
class QuantaMaker {
 public:
  QuantaMaker(const MixtureOptions& options, const Components& components)
      : options_(options),
        components_(components),
        names_(NamesOf(components)) {}

  absl::StatusOr<std::vector<uint64_t>> First() const {
    return Make({}, options_.temperature);
  }

  absl::StatusOr<std::vector<uint64_t>> Of(const MixtureStage& stage) const {
    for (const auto& [name, weight] : stage.weights) {
      if (std::binary_search(names_.begin(), names_.end(), name)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(StageLabel(stage), ": unknown component '", name, "'",
                       internal::DidYouMean(name, names_)));
    }
    auto quanta =
        Make(stage.weights, stage.temperature.value_or(options_.temperature));
    if (quanta.ok()) return quanta;
    return internal::Prepend(quanta.status(), StageLabel(stage));
  }

 private:
  absl::StatusOr<std::vector<uint64_t>> Make(
      const std::map<std::string, double>& stated, double temperature) const {
    std::vector<double> weights;
    weights.reserve(components_.size());
    for (const WeightedComponent& component : components_) {
      const auto found = stated.find(component.name);
      double weight = found == stated.end() ? component.weight : found->second;
      if (options_.weight_rule == WeightRule::kSizeProportional) {
        if (!component.items) {
          return absl::InvalidArgumentError(absl::StrCat(
              "'", component.name,
              "' is endless: a share in proportion to its size needs one"));
        }
        weight *= static_cast<double>(*component.items);
      }
      weights.push_back(weight);
    }
    if (options_.weight_rule == WeightRule::kScores) {
      return internal::QuantaFromScores(weights, temperature, names_);
    }
    return internal::QuantaFromPowers(weights, temperature, names_);
  }

  const MixtureOptions& options_;
  const Components& components_;
  const std::vector<std::string> names_;
};

// The steps of a stage's ramp.
struct Ramp {
  uint64_t steps = 0;
  internal::Uint128 step_samples = 0;
  // Of the steps and the stage behind them, those that begin before the next
  // stage.
  uint64_t stages = 1;
};

// REQUIRES: stage.start < end.
absl::StatusOr<Ramp> RampOf(const MixtureStage& stage, uint64_t block_size,
                            uint64_t end) {
  Ramp ramp;
  if (stage.ramp_samples == 0) return ramp;
  const auto divide = [](internal::Uint128 samples, internal::Uint128 size) {
    return static_cast<uint64_t>((samples + size - 1) / size);
  };
  const uint64_t blocks =
      stage.ramp_blocks != 0
          ? stage.ramp_blocks
          : divide(stage.ramp_samples,
                   internal::Uint128{block_size} * kDefaultRampSteps);
  ramp.step_samples = internal::Uint128{blocks} * block_size;
  ramp.steps = divide(stage.ramp_samples, ramp.step_samples);
  if (ramp.steps > kMaxRampSteps) {
    return absl::InvalidArgumentError(
        absl::StrCat(StageLabel(stage), ": a ramp of ", stage.ramp_samples,
                     " samples in steps of ", blocks, " blocks has ",
                     ramp.steps, " steps, more than ", kMaxRampSteps,
                     "; state a larger ramp_blocks, or none"));
  }
  ramp.stages =
      std::min(ramp.steps + 1, divide(end - stage.start, ramp.step_samples));
  return ramp;
}

// Where the stage after stages[s] begins.
uint64_t EndOf(const std::vector<MixtureStage>& stages, size_t s) {
  return s + 1 < stages.size() ? stages[s + 1].start : kMaxSamples;
}

absl::Status CheckStarts(const std::vector<MixtureStage>& stages) {
  uint64_t last = 0;
  for (const MixtureStage& stage : stages) {
    if (stage.start <= last) {
      return absl::InvalidArgumentError(absl::StrCat(
          StageLabel(stage),
          " does not begin after the stage before it, at sample ", last));
    }
    if (stage.start >= kMaxSamples) {
      return absl::InvalidArgumentError(
          absl::StrCat(StageLabel(stage), " does not begin below 2^62"));
    }
    last = stage.start;
  }
  return absl::OkStatus();
}

// Stages of the plan, at most: the steps of ramps and `cuts` are some, too.
// REQUIRES: CheckStarts().
absl::StatusOr<uint64_t> CountStages(const MixtureOptions& options,
                                     uint64_t cuts) {
  uint64_t count = 1 + cuts;
  for (size_t s = 0; s < options.stages.size(); ++s) {
    PONIENTE_ASSIGN_OR_RETURN(const Ramp ramp,
                              RampOf(options.stages[s], options.block_size,
                                     EndOf(options.stages, s)));
    count += ramp.stages;
  }
  return count;
}

absl::Status TooLarge(uint64_t stages, size_t components, const char* limit) {
  return absl::ResourceExhaustedError(absl::StrCat(
      "a plan of ", stages,
      " stages (steps of ramps and changes of length "
      "among them) over ",
      components, " components takes more than ", limit,
      "; state a larger ramp_blocks, fewer stages or fewer components"));
}

// Appends the steps of a ramp from the quanta in force before the stage, and
// the stage's own behind them, as far as they come into force.
void AppendStage(const MixtureStage& stage, const Ramp& ramp,
                 std::vector<uint64_t> target, std::vector<PlanStage>* stages) {
  const std::vector<uint64_t> before = stages->back().quanta;
  internal::Uint128 start = stage.start;
  for (uint64_t s = 0; s < ramp.stages; ++s, start += ramp.step_samples) {
    const auto at = static_cast<uint64_t>(start);
    if (s == ramp.steps) {
      stages->push_back({at, std::move(target)});
      return;
    }
    stages->push_back(
        {at, internal::QuantaOnRamp(before, target, s, ramp.steps)});
  }
}

// Makes a stage begin at `start`, with the quanta that are in force there.
void CutAt(uint64_t start, std::vector<PlanStage>* stages) {
  const auto after = std::upper_bound(
      stages->begin(), stages->end(), start,
      [](uint64_t at, const PlanStage& stage) { return at < stage.start; });
  if (std::prev(after)->start == start) return;
  PlanStage cut = {start, std::prev(after)->quanta};
  stages->insert(after, std::move(cut));
}

absl::StatusOr<std::vector<SeqLenChange>> CheckedSeqLens(
    const MixtureOptions& options) {
  std::vector<SeqLenChange> lengths = options.seq_lens;
  if (options.max_seq_len == 0) {
    if (lengths.empty()) return lengths;
    return absl::InvalidArgumentError(
        "a schedule of sequence lengths needs max_seq_len, the tokens per item "
        "of the components");
  }
  if (options.group_items > MixtureOptions::kMaxGroupItems) {
    return absl::InvalidArgumentError(absl::StrCat(
        "group_items must be at most 2^30, got ", options.group_items));
  }
  if (lengths.empty()) lengths.push_back({0, options.max_seq_len});
  for (size_t i = 0; i < lengths.size(); ++i) {
    const SeqLenChange& change = lengths[i];
    if (i == 0 ? change.start != 0 : change.start <= lengths[i - 1].start) {
      return absl::InvalidArgumentError(
          absl::StrCat("sequence length ", change.seq_len, " begins at sample ",
                       change.start,
                       i == 0 ? ", but the first must begin at 0"
                              : ", which is not after the one before it"));
    }
    if (change.seq_len < 1 || change.seq_len > options.max_seq_len) {
      return absl::InvalidArgumentError(
          absl::StrCat("sequence length from sample ", change.start,
                       " on must be 1 to max_seq_len, ", options.max_seq_len,
                       ", got ", change.seq_len));
    }
  }
  return lengths;
}

absl::StatusOr<Components> InCanonicalOrder(Components components) {
  if (components.empty()) {
    return absl::InvalidArgumentError("a mixture needs a component");
  }
  std::sort(components.begin(), components.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  for (size_t i = 1; i < components.size(); ++i) {
    if (components[i].name == components[i - 1].name) {
      return absl::InvalidArgumentError(
          absl::StrCat("two components are named '", components[i].name,
                       "'; names key the order, so they must differ"));
    }
  }
  return components;
}

absl::StatusOr<std::vector<PlanStage>> MakeStages(
    const MixtureOptions& options, const Components& components) {
  const QuantaMaker maker(options, components);
  std::vector<PlanStage> stages(1);
  PONIENTE_ASSIGN_OR_RETURN(stages[0].quanta, maker.First());
  for (size_t s = 0; s < options.stages.size(); ++s) {
    const MixtureStage& stage = options.stages[s];
    PONIENTE_ASSIGN_OR_RETURN(std::vector<uint64_t> quanta, maker.Of(stage));
    PONIENTE_ASSIGN_OR_RETURN(
        const Ramp ramp,
        RampOf(stage, options.block_size, EndOf(options.stages, s)));
    AppendStage(stage, ramp, std::move(quanta), &stages);
  }
  return stages;
}

// All stages of a plan, with cuts where lengths change and at further starts.
absl::StatusOr<std::shared_ptr<const StagePlan>> MakePlan(
    const MixtureOptions& options, const Components& components,
    const std::vector<SeqLenChange>& seq_lens,
    std::span<const uint64_t> further_starts) {
  PONIENTE_RETURN_IF_ERROR(CheckStarts(options.stages));
  PONIENTE_ASSIGN_OR_RETURN(
      const uint64_t count,
      CountStages(options, seq_lens.size() + further_starts.size()));
  if (internal::Uint128{count} * components.size() * kStageBytes >
      kMaxPlanBytes) {
    return TooLarge(count, components.size(), "2 GiB");
  }
  try {
    PONIENTE_ASSIGN_OR_RETURN(std::vector<PlanStage> stages,
                              MakeStages(options, components));
    for (const SeqLenChange& change : seq_lens) CutAt(change.start, &stages);
    for (const uint64_t start : further_starts) CutAt(start, &stages);
    return StagePlan::Create(options.block_size, std::move(stages));
  } catch (const std::bad_alloc&) {
    return TooLarge(count, components.size(), "the memory there is");
  }
}

}  // namespace

absl::StatusOr<MixturePlan> MixturePlan::Create(
    const MixtureOptions& options, std::vector<WeightedComponent> components,
    std::span<const uint64_t> further_starts) {
  if (options.block_size < 1 || options.block_size > StagePlan::kMaxBlockSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("block_size must be 1 to ", StagePlan::kMaxBlockSize,
                     ", got ", options.block_size));
  }
  auto state = std::make_shared<State>();
  PONIENTE_ASSIGN_OR_RETURN(const Components sorted,
                            InCanonicalOrder(std::move(components)));
  state->names = NamesOf(sorted);
  PONIENTE_ASSIGN_OR_RETURN(state->seq_lens, CheckedSeqLens(options));
  state->max_seq_len = options.max_seq_len;
  state->trim = options.trim;
  state->parts = internal::PartsOf(options, state->seq_lens);
  state->group_items = options.group_items;
  PONIENTE_ASSIGN_OR_RETURN(
      state->plan, MakePlan(options, sorted, state->seq_lens, further_starts));
  state->temperatures.push_back({0, options.temperature});
  for (const MixtureStage& stage : options.stages) {
    state->temperatures.push_back(
        {stage.start, stage.temperature.value_or(options.temperature)});
  }
  return MixturePlan(std::move(state));
}

MixturePlan::MixturePlan(std::shared_ptr<const State> state)
    : state_(std::move(state)) {}

std::span<const std::string> MixturePlan::names() const {
  return state_->names;
}

std::optional<uint32_t> MixturePlan::Find(std::string_view name) const {
  const auto at =
      std::lower_bound(state_->names.begin(), state_->names.end(), name);
  if (at == state_->names.end() || *at != name) return std::nullopt;
  return static_cast<uint32_t>(at - state_->names.begin());
}

std::vector<double> MixturePlan::WeightsAt(uint64_t sample) const {
  const uint32_t stage = state_->plan->BlockOf(sample).stage;
  std::vector<double> weights;
  weights.reserve(state_->names.size());
  for (const uint64_t quantum : state_->plan->quanta(stage)) {
    weights.push_back(static_cast<double>(quantum) * 0x1p-62);
  }
  return weights;
}

double MixturePlan::TemperatureAt(uint64_t sample) const {
  const auto after = std::upper_bound(
      state_->temperatures.begin(), state_->temperatures.end(), sample,
      [](uint64_t at, const State::Temperature& t) { return at < t.start; });
  return std::prev(after)->value;
}

uint32_t MixturePlan::SeqLenAt(uint64_t sample) const {
  if (state_->seq_lens.empty()) return 0;
  const auto after =
      std::upper_bound(state_->seq_lens.begin(), state_->seq_lens.end(), sample,
                       [](uint64_t at, const SeqLenChange& change) {
                         return at < change.start;
                       });
  return std::prev(after)->seq_len;
}

std::span<const SeqLenChange> MixturePlan::seq_lens() const {
  return state_->seq_lens;
}

uint64_t MixturePlan::Count(uint32_t component, uint64_t samples) const {
  return state_->plan->Count(component, samples);
}

uint64_t MixturePlan::ItemsBefore(uint32_t component, uint64_t samples) const {
  const internal::ItemView endless;
  internal::ItemDraws draws(0, "", endless, {}, state_->group_items);
  for (const internal::PartsChange& change : state_->parts) {
    if (change.start >= samples && change.start > 0) break;
    draws.Continue(Count(component, change.start), endless, change.parts);
  }
  return draws.PlacesBefore(Count(component, samples));
}

uint64_t MixturePlan::EarliestStart(uint64_t sample) const {
  if (sample == 0) return 0;
  const internal::Block block = state_->plan->BlockOf(sample - 1);
  return block.first + block.size;
}

uint64_t MixturePlan::PrefixHash(uint64_t seed, uint64_t sample) const {
  const uint64_t dealt = state_->plan->PrefixHash(seed, state_->names, sample);
  const uint64_t end = EarliestStart(sample);
  internal::KeyHash hash(dealt);
  // Whole items, stated as a length or not, are the same samples.
  bool cut = false;
  for (const SeqLenChange& change : state_->seq_lens) {
    if (change.start >= end) break;
    hash.Add(change.start).Add(uint64_t{change.seq_len});
    cut |= change.seq_len != state_->max_seq_len;
  }
  if (!cut) return dealt;
  hash.Add(uint64_t{state_->max_seq_len}).Add(uint64_t{state_->trim});
  return hash.Add(state_->group_items).key();
}

const std::shared_ptr<const StagePlan>& MixturePlan::stages() const {
  return state_->plan;
}

}  // namespace poniente
