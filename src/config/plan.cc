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
    const uint32_t component = mixture->ComponentOf(child);
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

// Up to here every sample of the run is looked up, in a second or so.
constexpr uint64_t kMostLookedUp = uint64_t{1} << 22;

// Replaces the samples of all sources by what the run's samples resolve to.
absl::Status CountSamples(const DatasetNode& root, const Ends& ends,
                          std::vector<RunSource>* sources) {
  const DatasetTree tree(root);
  std::vector<std::vector<double>> counts(
      tree.leaves().size(), std::vector<double>(ends.size(), 0.0));
  std::vector<Position> positions;
  std::vector<LeafPosition> items;
  uint64_t sample = 0;
  for (size_t stage = 0; stage < ends.size(); ++stage) {
    while (sample < static_cast<uint64_t>(ends[stage])) {
      constexpr uint64_t kAtOnce = 8192;
      const uint64_t until =
          std::min(static_cast<uint64_t>(ends[stage]), sample + kAtOnce);
      positions.clear();
      for (; sample < until; ++sample) positions.push_back({.index = sample});
      items.resize(positions.size());
      PONIENTE_RETURN_IF_ERROR(tree.Resolve(positions, items));
      for (const LeafPosition& item : items) ++counts[item.leaf][stage];
    }
  }
  // Rows and leaves are both depth first; a row's leaves are those of the
  // deeper rows that follow it.
  size_t leaf = counts.size();
  for (size_t row = sources->size(); row-- > 0;) {
    RunSource& source = (*sources)[row];
    if (source.kind == "store") {
      source.samples = counts[--leaf];
      continue;
    }
    source.samples.assign(ends.size(), 0.0);
    for (size_t below = row + 1;
         below < sources->size() && (*sources)[below].depth > source.depth;
         ++below) {
      if ((*sources)[below].kind != "store") continue;
      for (size_t stage = 0; stage < ends.size(); ++stage) {
        source.samples[stage] += (*sources)[below].samples[stage];
      }
    }
  }
  return absl::OkStatus();
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
  if (plan.steps == 0 && !length.has_value()) {
    return absl::FailedPreconditionError(
        "the run has no end: set data.steps, or pass --steps");
  }
  if (length.has_value()) {  // the data may end before the steps do
    const bool keep = config.loader_options().last_batch == LastBatch::kKeep;
    const uint64_t most = *length / plan.batch_size +
                          (keep && *length % plan.batch_size != 0 ? 1 : 0);
    plan.steps = plan.steps == 0 ? most : std::min(plan.steps, most);
  }
  const uint64_t samples =
      std::min(length.value_or(UINT64_MAX), plan.steps * plan.batch_size);
  Ends ends;
  for (size_t i = 0; i < schedule.stages().size(); ++i) {
    const PlannedStage& stage = schedule.stages()[i];
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
  if (samples <= kMostLookedUp) {
    PONIENTE_RETURN_IF_ERROR(
        CountSamples(*config.dataset(), ends, &plan.sources));
    plan.is_exact = true;
  }
  return plan;
}

}  // namespace poniente::internal
