// SPDX-License-Identifier: Apache-2.0
#include "config/plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "index/mixture_map.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Draws of a node, counted from its first: up to the end of each stage.
using Ends = std::vector<double>;

// What draws of `node` up to `ends` take from its child number `child`.
Ends EndsOfChild(const DatasetNode& node, uint32_t child, const Ends& ends) {
  const std::shared_ptr<const IndexMap> map = node.map();
  Ends below(ends.size());
  if (const auto* mixture = dynamic_cast<const MixtureMap*>(map.get())) {
    const uint32_t component = mixture->order().canonical[child];
    for (size_t i = 0; i < ends.size(); ++i) {
      below[i] = static_cast<double>(mixture->plan().Count(
          component, static_cast<uint64_t>(std::llround(ends[i]))));
    }
    return below;
  }
  const std::vector<NamedNode> children = node.children();
  if (children.size() == 1) return ends;
  // Every item of the node once per epoch, in an order without preference.
  double all = 0;
  for (const NamedNode& sibling : children) {
    all += static_cast<double>(sibling.node->length_now().readable);
  }
  const double own =
      static_cast<double>(children[child].node->length_now().readable);
  for (size_t i = 0; i < ends.size(); ++i) {
    below[i] = all == 0 ? 0 : ends[i] * own / all;
  }
  return below;
}

// Only hands on (some of) the items of an unnamed child: no row of its own.
bool IsPassedThrough(const DatasetNode& node) {
  const std::vector<NamedNode> children = node.children();
  return children.size() == 1 && children[0].name.empty();
}

void AddSources(const DatasetNode& node, const Ends& ends, uint32_t depth,
                std::vector<RunSource>* sources) {
  const std::vector<NamedNode> children = node.children();
  for (uint32_t i = 0; i < children.size(); ++i) {
    const Ends below = EndsOfChild(node, i, ends);
    if (IsPassedThrough(node)) {
      AddSources(*children[i].node, below, depth, sources);
      continue;
    }
    const DatasetNode* shown = children[i].node;
    while (IsPassedThrough(*shown)) shown = shown->children()[0].node;
    RunSource& source = sources->emplace_back();
    source.name = children[i].name;
    source.kind = shown->children().empty() ? "store" : shown->name();
    source.depth = depth;
    const LengthState length = children[i].node->length_now();
    if (!length.is_endless) source.length = length.readable;
    source.samples = below;
    std::adjacent_difference(below.begin(), below.end(),
                             source.samples.begin());
    AddSources(*children[i].node, below, depth + 1, sources);
  }
}

}  // namespace

double RunSource::total() const {
  return std::accumulate(samples.begin(), samples.end(), 0.0);
}

std::optional<double> RunSource::epochs() const {
  if (length.value_or(0) == 0) return std::nullopt;
  return total() / static_cast<double>(*length);
}

absl::StatusOr<PlannedRun> MakePlan(const Config& config,
                                    std::optional<uint64_t> steps) {
  const Schedule& schedule = config.schedule();
  const StepPlan first = schedule.At(0);
  PlannedRun plan;
  plan.batch_size = first.batch_size;
  plan.seq_len = first.seq_len;
  plan.steps = steps.value_or(schedule.steps());
  const std::optional<uint64_t> length = config.dataset()->CurrentLength();
  uint64_t samples = plan.steps * plan.batch_size;
  if (plan.steps == 0) {
    if (!length.has_value()) {
      return absl::FailedPreconditionError(
          "the run has no end: set data.steps, or pass --steps");
    }
    samples = *length;
    plan.steps = (samples + plan.batch_size - 1) / plan.batch_size;
  }
  Ends ends;
  for (size_t i = 0; i < schedule.stages().size(); ++i) {
    const ScheduleStage& stage = schedule.stages()[i];
    if (stage.start_step >= plan.steps) break;
    const bool is_last = i + 1 == schedule.stages().size();
    const uint64_t end =
        is_last ? plan.steps
                : std::min(plan.steps, schedule.stages()[i + 1].start_step);
    const uint64_t end_sample = std::min(samples, end * plan.batch_size);
    plan.stages.push_back({stage.name, stage.start_step, end,
                           end_sample - stage.start_step * plan.batch_size,
                           stage.lr_scale});
    ends.push_back(static_cast<double>(end_sample));
  }
  AddSources(*config.dataset(), ends, 0, &plan.sources);
  if (plan.sources.empty()) {  // a single store
    RunSource& only = plan.sources.emplace_back();
    only.name = DatasetTree(*config.dataset()).leaves()[0].path;
    only.kind = "store";
    only.length = length;
    only.samples = ends;
    std::adjacent_difference(ends.begin(), ends.end(), only.samples.begin());
  }
  return plan;
}

}  // namespace poniente::internal
