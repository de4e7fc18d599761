// SPDX-License-Identifier: Apache-2.0
#include "index/mixture/mixture_stages.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "index/int128.h"
#include "index/max_samples.h"
#include "index/mixture/stage_ramps.h"
#include "index/mixture/temperature_ramp.h"
#include "index/mixture/weights.h"
#include "util/nearest_name.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Most memory of all stages, at about 64 bytes per component and stage.
constexpr Uint128 kMaxPlanBytes = Uint128{1} << 31;
constexpr uint64_t kStageBytes = 64;

using Components = std::vector<WeightedComponent>;

// The weight of a component that is not drawn.
double NeverDrawn(const MixtureOptions& options) {
  const bool is_scores = options.weight_rule == WeightRule::kScores;
  return is_scores ? -std::numeric_limits<double>::infinity() : 0;
}

// Turns the weights of one stage into quanta.
class QuantaMaker {
 public:
  QuantaMaker(const MixtureOptions& options, const Components& components)
      : options_(options),
        components_(components),
        names_(NamesOf(components)) {}

  absl::StatusOr<std::vector<uint64_t>> First() const {
    return Make(WeightsOf(MixtureStage(), components_), options_.temperature);
  }

  // Returns the quanta of a step of a ramp of the temperature. REQUIRES: Of()
  // accepts the stage.
  absl::StatusOr<std::vector<uint64_t>> At(const MixtureStage& stage,
                                           const std::vector<bool>& retired,
                                           double temperature) const {
    std::vector<double> weights = WeightsOf(stage, components_);
    Retire(retired, &weights);
    return Make(std::move(weights), temperature);
  }

  // `retired`: components without weight; empty if there are none.
  absl::StatusOr<std::vector<uint64_t>> Of(
      const MixtureStage& stage, const std::vector<bool>& retired = {}) const {
    for (const auto& [name, weight] : stage.weights) {
      if (std::binary_search(names_.begin(), names_.end(), name)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(MixtureStageLabel(stage), ": unknown component '", name,
                       "'", DidYouMean(name, names_)));
    }
    std::vector<double> weights = WeightsOf(stage, components_);
    Retire(retired, &weights);
    auto quanta = Make(std::move(weights),
                       stage.temperature.value_or(options_.temperature));
    if (quanta.ok()) return quanta;
    return Prepend(quanta.status(), MixtureStageLabel(stage));
  }

  absl::StatusOr<std::vector<uint64_t>> Of(const DecidedStage& decided) const {
    std::vector<double> weights = decided.weights;
    Retire(decided.retired, &weights);
    auto quanta = Make(std::move(weights), decided.temperature);
    if (quanta.ok()) return quanta;
    return Prepend(quanta.status(), decided.label);
  }

 private:
  void Retire(const std::vector<bool>& retired,
              std::vector<double>* weights) const {
    for (size_t c = 0; c < retired.size(); ++c) {
      if (retired[c]) (*weights)[c] = NeverDrawn(options_);
    }
  }

  absl::StatusOr<std::vector<uint64_t>> Make(std::vector<double> weights,
                                             double temperature) const {
    if (options_.weight_rule == WeightRule::kSizeProportional) {
      for (size_t c = 0; c < weights.size(); ++c) {
        const WeightedComponent& component = components_[c];
        if (!component.items) {
          return absl::InvalidArgumentError(absl::StrCat(
              "'", component.name,
              "' is endless: a share in proportion to its size needs one"));
        }
        weights[c] *= static_cast<double>(*component.items);
      }
    }
    if (options_.weight_rule == WeightRule::kScores) {
      return QuantaFromScores(weights, temperature, names_);
    }
    return QuantaFromPowers(weights, temperature, names_);
  }

  const MixtureOptions& options_;
  const Components& components_;
  const std::vector<std::string> names_;
};

absl::Status CheckStarts(const std::vector<MixtureStage>& stages) {
  const MixtureStage* before = nullptr;
  for (const MixtureStage& stage : stages) {
    if (stage.start <= (before ? before->start : 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat(MixtureStageLabel(stage), " does not begin after ",
                       before ? absl::StrCat("the stage before it, ",
                                             MixtureStageLabel(*before))
                              : std::string("the first sample")));
    }
    if (stage.start >= kMaxSamples) {
      return absl::InvalidArgumentError(
          absl::StrCat(MixtureStageLabel(stage), " does not begin below 2^62"));
    }
    before = &stage;
  }
  return absl::OkStatus();
}

// Returns an upper bound of the stages of the plan, including the steps of
// ramps and `cuts`. REQUIRES: CheckStarts() is OK.
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

// Appends the steps of a stage's ramp, and then the stage with its own quanta.
// They move from those in force before the stage, or follow from a temperature
// that moves (CheckTemperatureRamp() is OK then). Leaves out what would begin
// after the next stage.
absl::Status AppendStage(const MixtureOptions& options, size_t s,
                         const Ramp& ramp, bool moves_temperature,
                         const QuantaMaker& maker,
                         const std::vector<bool>& retired,
                         std::vector<uint64_t> target,
                         std::vector<PlanStage>* stages) {
  const MixtureStage& stage = options.stages[s];
  const std::vector<uint64_t> before = stages->back().quanta;
  const auto on_ramp =
      [&](uint64_t i) -> absl::StatusOr<std::vector<uint64_t>> {
    if (!moves_temperature) return QuantaOnRamp(before, target, i, ramp.steps);
    return maker.At(
        stage, retired,
        TemperatureOnRamp(TemperatureBefore(options, s),
                          TemperatureOf(options, s), i, ramp.steps));
  };
  Uint128 start = stage.start;
  for (uint64_t i = 0; i < ramp.stages; ++i, start += ramp.step_samples) {
    const auto at = static_cast<uint64_t>(start);
    if (i == ramp.steps) {
      stages->push_back({at, std::move(target)});
      break;
    }
    PONIENTE_ASSIGN_OR_RETURN(std::vector<uint64_t> quanta, on_ramp(i));
    stages->push_back({at, std::move(quanta)});
  }
  return absl::OkStatus();
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

StatedStage StatedStageOf(const MixtureOptions& options, size_t s,
                          const Components& components) {
  const MixtureStage& stage = options.stages[s];
  StatedStage made;
  made.start = stage.start;
  made.label = MixtureStageLabel(stage);
  if (const auto end = RampEnd(stage, options.block_size)) {
    made.ramp_end = *end;
    made.ramp_label = RampLabel(stage);
  }
  made.weights = WeightsOf(stage, components);
  made.temperature = TemperatureOf(options, s);
  made.ramp_blocks = stage.ramp_blocks;
  made.ramps_temperature = stage.ramps_temperature;
  return made;
}

std::vector<StatedStage> StatedStages(const MixtureOptions& options,
                                      const Components& components) {
  std::vector<StatedStage> stated(1);
  stated[0].weights = WeightsOf(MixtureStage(), components);
  stated[0].temperature = options.temperature;
  for (size_t s = 0; s < options.stages.size(); ++s) {
    stated.push_back(StatedStageOf(options, s, components));
  }
  return stated;
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
    if (stage.ramps_temperature) {
      const MixtureStage first;
      const MixtureStage& last = s > 0 ? options.stages[s - 1] : first;
      PONIENTE_RETURN_IF_ERROR(CheckTemperatureRamp(
          options, s, components, WeightsOf(last, components),
          WeightsOf(stage, components), MixtureStageLabel(stage),
          s > 0 ? MixtureStageLabel(last) : "",
          s > 0 ? RampEnd(last, options.block_size) : std::nullopt));
    }
    PONIENTE_RETURN_IF_ERROR(
        AppendStage(options, s, ramp, stage.ramps_temperature, maker,
                    /*retired=*/{}, std::move(quanta), &stages));
  }
  return stages;
}

}  // namespace

std::vector<std::string> NamesOf(
    const std::vector<WeightedComponent>& components) {
  std::vector<std::string> names;
  names.reserve(components.size());
  for (const WeightedComponent& component : components) {
    names.push_back(component.name);
  }
  return names;
}

std::vector<double> WeightsOf(
    const MixtureStage& stage,
    const std::vector<WeightedComponent>& components) {
  std::vector<double> weights;
  weights.reserve(components.size());
  for (const WeightedComponent& component : components) {
    const auto found = stage.weights.find(component.name);
    weights.push_back(found == stage.weights.end() ? component.weight
                                                   : found->second);
  }
  return weights;
}

absl::StatusOr<std::shared_ptr<const StagePlan>> WithDecided(
    const StagePlan& plan, const MixtureOptions& options,
    const std::vector<WeightedComponent>& components,
    const std::vector<SeqLenChange>& seq_lens,
    std::span<const uint64_t> further_starts,
    std::span<const DecidedStage> decided) {
  const QuantaMaker maker(options, components);
  const uint64_t first = decided.front().start;
  size_t s = 0;
  while (s < options.stages.size() && options.stages[s].start <= first) ++s;
  // Begins with the stage in force before the first decision.
  std::vector<PlanStage> stages(1);
  const auto in_force = plan.quanta(plan.BlockOf(first - 1).stage);
  stages[0].quanta.assign(in_force.begin(), in_force.end());
  std::vector<StatedStage> stated;
  for (size_t d = 0; d < decided.size(); ++d) {
    PONIENTE_ASSIGN_OR_RETURN(std::vector<uint64_t> quanta,
                              maker.Of(decided[d]));
    stages.push_back({decided[d].start, std::move(quanta)});
    StatedStage& one = stated.emplace_back();
    one.start = decided[d].start;
    one.label = decided[d].label;
    one.weights = decided[d].weights;
    one.temperature = decided[d].temperature;
    const uint64_t next =
        d + 1 < decided.size() ? decided[d + 1].start : kMaxSamples;
    for (; s < options.stages.size() && options.stages[s].start <= next; ++s) {
      const MixtureStage& stage = options.stages[s];
      if (stage.start == next) continue;
      PONIENTE_ASSIGN_OR_RETURN(std::vector<uint64_t> own,
                                maker.Of(stage, decided[d].retired));
      PONIENTE_ASSIGN_OR_RETURN(
          const Ramp ramp, RampOf(stage, options.block_size,
                                  std::min(next, EndOf(options.stages, s))));
      PONIENTE_RETURN_IF_ERROR(
          AppendStage(options, s, ramp, MovesTemperature(options, s, decided),
                      maker, decided[d].retired, std::move(own), &stages));
      stated.push_back(StatedStageOf(options, s, components));
    }
  }
  stages.erase(stages.begin());
  for (const SeqLenChange& change : seq_lens) {
    if (change.start > first) CutAt(change.start, &stages);
  }
  for (const uint64_t start : further_starts) {
    if (start > first) CutAt(start, &stages);
  }
  return plan.With(std::move(stages), std::move(stated));
}

absl::StatusOr<std::shared_ptr<const StagePlan>> WithUndrawn(
    const StagePlan& plan, const MixtureOptions& options, size_t number) {
  const auto at = static_cast<ptrdiff_t>(number);
  std::vector<PlanStage> stages;
  for (size_t s = 0; s < plan.stages(); ++s) {
    const auto quanta = plan.quanta(s);
    PlanStage& stage = stages.emplace_back();
    stage.start = plan.stage_start(s);
    stage.quanta.assign(quanta.begin(), quanta.end());
    stage.quanta.insert(stage.quanta.begin() + at, 0);
  }
  std::vector<StatedStage> stated;
  for (size_t s = 0; s < plan.stated().size(); ++s) {
    StatedStage& stage = stated.emplace_back(plan.stated()[s]);
    stage.weights.insert(stage.weights.begin() + at, NeverDrawn(options));
  }
  return StagePlan::Create(plan.block_size(), std::move(stages),
                           std::move(stated));
}

absl::StatusOr<std::shared_ptr<const StagePlan>> MakeStagePlan(
    const MixtureOptions& options,
    const std::vector<WeightedComponent>& components,
    const std::vector<SeqLenChange>& seq_lens,
    std::span<const uint64_t> further_starts) {
  PONIENTE_RETURN_IF_ERROR(CheckStarts(options.stages));
  PONIENTE_ASSIGN_OR_RETURN(
      const uint64_t count,
      CountStages(options, seq_lens.size() + further_starts.size()));
  if (Uint128{count} * components.size() * kStageBytes > kMaxPlanBytes) {
    return TooLarge(count, components.size(), "2 GiB");
  }
  try {
    PONIENTE_ASSIGN_OR_RETURN(std::vector<PlanStage> stages,
                              MakeStages(options, components));
    for (const SeqLenChange& change : seq_lens) CutAt(change.start, &stages);
    for (const uint64_t start : further_starts) CutAt(start, &stages);
    return StagePlan::Create(options.block_size, std::move(stages),
                             StatedStages(options, components));
  } catch (const std::bad_alloc&) {
    return TooLarge(count, components.size(), "the memory there is");
  }
}

}  // namespace poniente::internal
