// SPDX-License-Identifier: Apache-2.0
#include "poniente/plan.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analysis/plan/plan_evals.h"
#include "analysis/plan/plan_series.h"
#include "analysis/plan/plan_sources.h"
#include "analysis/plan/plan_steps.h"
#include "analysis/trace/change_words.h"
#include "poniente/dataset_tree.h"
#include "poniente/extend/infilled_dataset.h"
#include "util/status_macros.h"

namespace poniente {
namespace {

AttentionSaved SavedBy(const internal::RunSteps& run) {
  AttentionSaved saved;
  double samples = 0;
  double tokens = 0;
  double squares = 0;
  for (const internal::RunInterval& interval : run.intervals()) {
    const auto count =
        static_cast<double>(interval.end_sample - interval.first_sample);
    const double length = interval.seq_len;
    saved.longest = std::max(saved.longest, interval.seq_len);
    samples += count;
    tokens += count * length;
    squares += count * length * length;
  }
  if (samples == 0) return saved;
  // The share of tokens of a length L is that of samples, times L.
  const double longest = saved.longest;
  saved.same_steps = longest * longest * samples / squares;
  saved.saved_per_sample = longest * longest - squares / samples;
  saved.same_tokens = longest * tokens / squares;
  saved.saved_per_token = longest - squares / tokens;
  return saved;
}

// Adds what a run does to the documents of its sources.
void AddInfilling(const InfilledDataset& infilled, const Schedule& schedule,
                  PlannedRun* plan) {
  for (const InfilledSource& source : infilled.infillings().sources()) {
    for (PlannedRunSource& row : plan->sources) {
      // Only a root that is a source has no name.
      if (!row.is_leaf || (row.path != source.path && !source.path.empty())) {
        continue;
      }
      for (const PlannedRunStage& stage : plan->stages) {
        // A plan may have more steps than the run.
        const uint64_t end = schedule.steps() == 0
                                 ? stage.end_step
                                 : std::min(stage.end_step, schedule.steps());
        row.fim_rates.push_back(internal::Infillings::RateAt(
            source, schedule.FirstSample(end) - 1));
      }
    }
  }
}

}  // namespace

double PlannedRunSource::total_samples() const {
  return std::accumulate(samples.begin(), samples.end(), 0.0);
}

double PlannedRunSource::total_tokens() const {
  return std::accumulate(tokens.begin(), tokens.end(), 0.0);
}

absl::StatusOr<PlannedRun> MakePlan(const Config& config,
                                    std::optional<uint64_t> steps,
                                    double max_repeats) {
  PONIENTE_ASSIGN_OR_RETURN(
      PlannedRun plan,
      MakePlan(*config.dataset(), config.schedule(), config.sources(),
               config.loader_options().last_batch, steps, max_repeats));
  PONIENTE_ASSIGN_OR_RETURN(plan.changes,
                            internal::ChangesOf(config, plan.samples));
  for (PlannedRunChange& change : plan.changes) {
    change.step = std::min(change.step, plan.steps);
  }
  PONIENTE_RETURN_IF_ERROR(internal::PlanEvals(config, &plan));
  const absl::Status opens = config.CheckLoader();
  if (!opens.ok()) plan.refusal = std::string(opens.message());
  return plan;
}

absl::StatusOr<PlannedRun> MakePlan(const DatasetNode& root,
                                    const Schedule& schedule,
                                    const std::vector<ConfigSource>& sources,
                                    LastBatch last_batch,
                                    std::optional<uint64_t> steps,
                                    double max_repeats) {
  // Which tokens of a document come where makes no difference to a plan.
  if (const InfilledDataset* const infilled = InfilledOf(root)) {
    PONIENTE_ASSIGN_OR_RETURN(
        PlannedRun plan, MakePlan(*infilled->children()[0].node, schedule,
                                  sources, last_batch, steps, max_repeats));
    AddInfilling(*infilled, schedule, &plan);
    return plan;
  }
  const LengthState length = root.length_now();
  std::optional<uint64_t> there;
  if (!length.is_endless) there = length.readable;
  // What max_epochs forbids is an error, not an end.
  PONIENTE_ASSIGN_OR_RETURN(
      const internal::RunSteps stated,
      internal::RunSteps::Create(
          schedule, steps.value_or(schedule.steps()) > 0 ? std::nullopt : there,
          last_batch, steps));
  PONIENTE_RETURN_IF_ERROR(DatasetTree(root).CheckEpochs(
      std::max<uint64_t>(1, stated.samples()), &schedule));
  PONIENTE_ASSIGN_OR_RETURN(
      const internal::RunSteps run,
      internal::RunSteps::Create(schedule, there, last_batch, steps));
  const StepPlan first = schedule.At(0);
  PlannedRun plan;
  plan.steps = run.steps();
  plan.samples = run.samples();
  plan.batch_size = first.batch_size;
  plan.seq_len = first.seq_len;
  plan.max_seq_len = schedule.max_seq_len();
  plan.is_cut_short = run.is_cut_short();
  plan.max_repeats = max_repeats;
  plan.attention = SavedBy(run);
  for (size_t stage = 0; stage < run.stages(); ++stage) {
    plan.stages.push_back(run.Stage(stage));
    plan.tokens += plan.stages.back().tokens;
  }
  PONIENTE_RETURN_IF_ERROR(
      internal::PlanSources(root, run, sources).Fill(&plan));
  for (PlannedRunStage& stage : plan.stages) {
    stage.bytes_per_step /=
        static_cast<double>(stage.end_step - stage.first_step);
  }
  PONIENTE_RETURN_IF_ERROR(internal::AddSeries(root, run, &plan));
  return plan;
}

}  // namespace poniente
