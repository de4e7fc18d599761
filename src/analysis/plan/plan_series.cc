// SPDX-License-Identifier: Apache-2.0
#include "analysis/plan/plan_series.h"

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "analysis/plan/plan_sources.h"
#include "index/mixture/mixture_map.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Some milliseconds, and a page of some hundred kilobytes, at most.
constexpr uint64_t kMaxPoints = 320;
constexpr uint64_t kMaxNumbers = 25'000;
constexpr size_t kMaxBands = 256;
constexpr uint64_t kPointsPerRamp = 24;
constexpr uint64_t kPointsPerStage = 24;

// The sources of depth 0 that read most, in their order.
std::vector<size_t> LargestSources(const PlannedRun& plan, uint32_t* others) {
  std::vector<size_t> found;
  for (size_t s = 0; s < plan.sources.size(); ++s) {
    if (plan.sources[s].depth == 0) found.push_back(s);
  }
  if (found.size() <= kMaxBands) return found;
  *others = static_cast<uint32_t>(found.size() - kMaxBands);
  std::stable_sort(found.begin(), found.end(), [&](size_t a, size_t b) {
    return plan.sources[a].total_tokens() > plan.sources[b].total_tokens();
  });
  found.resize(kMaxBands);
  std::sort(found.begin(), found.end());
  return found;
}

// `first`, `end` and steps between them, evenly.
void AddBetween(uint64_t first, uint64_t end, uint64_t parts,
                std::vector<uint64_t>* steps) {
  const uint64_t all = end - first;
  parts = std::max<uint64_t>(1, std::min(parts, all));
  for (uint64_t i = 0; i <= parts; ++i) {
    steps->push_back(first + all / parts * i + all % parts * i / parts);
  }
}

std::vector<uint64_t> StepsShown(const RunSteps& run, const PlannedRun& plan,
                                 size_t bands) {
  std::vector<uint64_t> steps;
  AddBetween(0, run.steps(),
             std::clamp<uint64_t>(kMaxNumbers / std::max<size_t>(1, bands), 64,
                                  kMaxPoints),
             &steps);
  // Short stages of long samples have many tokens, and may have a line of
  // lr_scale.
  const uint64_t per_interval = std::clamp<uint64_t>(
      kPointsPerStage * 8 / run.intervals().size(), 1, kPointsPerStage);
  for (const RunInterval& interval : run.intervals()) {
    AddBetween(interval.first_step, interval.end_step, per_interval, &steps);
  }
  for (const PlannedRunStage& stage : plan.stages) {
    if (!stage.ramp_end_step.has_value()) continue;
    AddBetween(stage.first_step, *stage.ramp_end_step, kPointsPerRamp, &steps);
  }
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  return steps;
}

void AddPoints(const RunSteps& run, const std::vector<uint64_t>& steps,
               PlannedRun* plan) {
  double tokens = 0;
  uint64_t before = 0;
  uint32_t seq_len = 0;
  for (const uint64_t step : steps) {
    const uint64_t sample = run.FirstSample(step);
    tokens += static_cast<double>(sample - before) * seq_len;
    before = sample;
    const uint64_t served = std::min(step, run.steps() - 1);
    const RunInterval& interval = run.IntervalOf(served);
    const PlannedRunStage& stage = plan->stages[interval.stage];
    PlannedRunSeries::Point& point = plan->series.points.emplace_back();
    point.step = step;
    point.batch_size = interval.batch_size;
    point.seq_len = seq_len = interval.seq_len;
    point.lr_scale = run.LrScale(served);
    point.stage = interval.stage;
    point.is_ramp = step < stage.ramp_end_step.value_or(0);
    point.tokens = tokens;
  }
}

class Bands {
 public:
  Bands(const DatasetNode& root, const RunSteps& run,
        const std::vector<uint64_t>& steps, PlannedRun* plan)
      : run_(run), steps_(steps), plan_(plan) {
    mixture_ = std::dynamic_pointer_cast<const MixtureMap>(root.map());
    flow_ = RootFlow(root, run, steps);
  }

  // Down to the node whose children the bands are.
  absl::Status Fill(const DatasetNode& node, const Flow& flow,
                    const NodeFlow* above) {
    const std::vector<NamedNode> children = node.children();
    if (children.empty()) {
      if (!plan_->series.bands.empty()) {
        AddTokens(flow, &plan_->series.bands[0]);
      }
      return absl::OkStatus();
    }
    LookUps none;
    PONIENTE_ASSIGN_OR_RETURN(
        const std::unique_ptr<NodeFlow> made,
        NodeFlow::Create(node, children, flow, above, 0, &none));
    if (IsPassedThrough(children)) {
      return Fill(*children[0].node, made->Child(0), made.get());
    }
    // Rows of depth 0 and first views come in the same order.
    std::map<std::string_view, PlannedRunSeries::Band*> of_names;
    size_t band = 0;
    size_t row = 0;
    for (uint32_t i = 0; i < children.size(); ++i) {
      PlannedRunSeries::Band* to = nullptr;
      if (children[i].view > 0) {
        const auto known = of_names.find(children[i].name);
        if (known != of_names.end()) to = known->second;
      } else {
        while (plan_->sources[row].depth > 0) ++row;
        if (band < plan_->series.bands.size() &&
            plan_->series.bands[band].source == row) {
          to = &plan_->series.bands[band++];
          of_names[children[i].name] = to;
        }
        ++row;
      }
      if (to == nullptr) continue;
      AddTokens(made->Child(i), to);
      if (children[i].view == 0) SetShares(i, to);
    }
    return absl::OkStatus();
  }

  const Flow& flow() const { return flow_; }

 private:
  void AddTokens(const Flow& flow, PlannedRunSeries::Band* band) const {
    double tokens = 0;
    band->tokens.resize(steps_.size());
    for (size_t i = 0; i < flow.intervals(); ++i) {
      tokens += flow.Samples(i) * plan_->series.points[i].seq_len;
      band->tokens[i + 1] += tokens;
    }
    if (!plan_->sources[band->source].epochs || !flow.per_epoch) return;
    const auto length =
        static_cast<double>(std::max<uint64_t>(1, *flow.per_epoch));
    double epochs = 0;
    band->epochs.resize(steps_.size());
    for (size_t i = 0; i < flow.intervals(); ++i) {
      epochs += flow.Positions(i) / length;
      band->epochs[i + 1] += epochs;
    }
  }

  // Those in force, where the root is a mixture.
  void SetShares(uint32_t child, PlannedRunSeries::Band* band) const {
    if (mixture_ == nullptr) return;
    const StagePlan& plan = mixture_->plan();
    for (const uint64_t step : steps_) {
      const uint64_t sample =
          run_.FirstSample(std::min(step, run_.steps() - 1));
      const uint64_t quanta =
          plan.quanta(plan.BlockOf(sample).stage)[mixture_->ComponentOf(child)];
      band->shares.push_back(static_cast<double>(quanta) * 0x1p-62);
    }
  }

  const RunSteps& run_;
  const std::vector<uint64_t>& steps_;
  PlannedRun* const plan_;
  std::shared_ptr<const MixtureMap> mixture_;
  Flow flow_;
};

// Sources that repeat what is below them count its passes.
void ScaleEpochs(PlannedRun* plan) {
  for (PlannedRunSeries::Band& band : plan->series.bands) {
    if (band.epochs.empty() || band.epochs.back() == 0) continue;
    const double scale =
        *plan->sources[band.source].epochs / band.epochs.back();
    for (double& epochs : band.epochs) epochs *= scale;
  }
}

// Of what is read up to the next point, where no shares are in force.
void ShareOutTokens(PlannedRunSeries* series) {
  for (PlannedRunSeries::Band& band : series->bands) {
    if (!band.shares.empty()) continue;
    for (size_t i = 0; i + 1 < series->points.size(); ++i) {
      const double all =
          series->points[i + 1].tokens - series->points[i].tokens;
      const double own = band.tokens[i + 1] - band.tokens[i];
      band.shares.push_back(all > 0 ? own / all : 0);
    }
    band.shares.push_back(band.shares.empty() ? 0 : band.shares.back());
  }
}

}  // namespace

absl::Status AddSeries(const DatasetNode& root, const RunSteps& run,
                       PlannedRun* plan) {
  PlannedRunSeries& series = plan->series;
  if (run.steps() == 0) return absl::OkStatus();
  for (const size_t source : LargestSources(*plan, &series.others)) {
    series.bands.emplace_back().source = source;
  }
  const std::vector<uint64_t> steps =
      StepsShown(run, *plan, series.bands.size());
  AddPoints(run, steps, plan);
  Bands bands(root, run, steps, plan);
  PONIENTE_RETURN_IF_ERROR(bands.Fill(root, bands.flow(), nullptr));
  ShareOutTokens(&series);
  ScaleEpochs(plan);
  return absl::OkStatus();
}

}  // namespace poniente::internal
