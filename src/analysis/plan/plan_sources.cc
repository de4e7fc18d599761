// SPDX-License-Identifier: Apache-2.0
#include "analysis/plan/plan_sources.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "analysis/plan/plan_leaves.h"
#include "dataset/joined_path.h"
#include "dataset/leaf_items.h"
#include "index/maps/repeat_map.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Up to here every sample of the run is looked up: some milliseconds.
constexpr uint64_t kMaxSamplesLookedUp = uint64_t{1} << 15;
// For blocks and epochs that marks cut.
constexpr uint64_t kMaxLookedUp = uint64_t{1} << 14;
// Of longer runs, to find the first repeats of all sources, and of one.
constexpr uint64_t kMaxForRepeats = uint64_t{1} << 18;
constexpr uint64_t kMaxForRepeat = uint64_t{1} << 13;
constexpr uint64_t kLeastForRepeat = 1024;

}  // namespace

bool IsPassedThrough(const std::vector<NamedNode>& children) {
  return !children.empty() &&
         std::all_of(children.begin(), children.end(),
                     [&](const NamedNode& child) {
                       return child.name.empty() &&
                              child.view == &child - children.data();
                     });
}

Flow RootFlow(const DatasetNode& root, const RunSteps& run,
              const std::vector<uint64_t>& steps) {
  Flow flow;
  const LengthState length = root.length_now();
  if (!length.is_endless) flow.per_epoch = length.readable;
  for (size_t i = 0; i + 1 < steps.size(); ++i) {
    for (const uint64_t step : {steps[i], steps[i + 1]}) {
      flow.marks.push_back({static_cast<double>(run.FirstSample(step))});
    }
    flow.parts.push_back(1);
  }
  return flow;
}

PlanSources::PlanSources(const DatasetNode& root, const RunSteps& run,
                         const std::vector<ConfigSource>& sources)
    : root_(root),
      run_(run),
      sources_(sources),
      numbers_(DatasetTree(root).LeavesDepthFirst()),
      leaves_(numbers_.size()) {}

absl::Status PlanSources::Fill(PlannedRun* plan) {
  const bool is_short = run_.samples() <= kMaxSamplesLookedUp;
  look_ups_.left = kMaxLookedUp;
  std::vector<uint64_t> steps = {0};
  for (const RunInterval& interval : run_.intervals()) {
    steps.push_back(interval.end_step);
  }
  const Flow flow = RootFlow(root_, run_, steps);
  const DatasetNode* shown = &root_;
  std::vector<NamedNode> below = shown->children();
  for (; IsPassedThrough(below); below = shown->children()) {
    shown = below[0].node;
  }
  Row* row = &rows_;
  if (below.empty()) {  // a single store
    row = RowOf(&rows_, {shown->name(), &root_});
    AddSamples(flow, row);
    row->is_weightless = false;
  }
  max_seq_len_ = plan->max_seq_len;
  PONIENTE_RETURN_IF_ERROR(AddNode(root_, flow, TreePosition(), row));
  plan->skipped_tokens += rows_.source.skipped_tokens;
  if (is_short) {
    PONIENTE_RETURN_IF_ERROR(LookUpSamples());
  } else {
    const DatasetTree tree(root_);
    LookUps look_ups = {kMaxForRepeats};
    size_t rows = num_rows_;
    Gather(&rows_);
    PONIENTE_RETURN_IF_ERROR(FindRepeats(tree, &look_ups, &rows, &rows_));
  }
  plan->sources.reserve(num_rows_);
  for (const auto& child : rows_.children) Finish(child.get(), 0, plan);
  return absl::OkStatus();
}

// `row` is the nearest named one above, or the node's own.
absl::Status PlanSources::AddNode(const DatasetNode& node, const Flow& flow,
                                  const TreePosition& place, Row* row) {
  if (row->counted == &node) AddPasses(node, flow, place, row);
  const std::vector<NamedNode> children = node.children();
  if (children.empty()) {
    AddPacking(node, &row->source);
    // The leaves of the view before are known.
    if (sharing_depth_ == 0) AddLeaf(node, row);
    return absl::OkStatus();
  }
  const bool is_passed = IsPassedThrough(children);
  PONIENTE_ASSIGN_OR_RETURN(const std::unique_ptr<NodeFlow> made,
                            NodeFlow::Create(node, children, flow, place.above,
                                             place.child, &look_ups_));
  for (uint32_t i = 0; i < children.size(); ++i) {
    const Flow below = made->Child(i);
    Row* own = row;
    if (!is_passed) {
      own = RowOf(row, children[i]);
      AddSamples(below, own);
      own->is_weightless &= made->IsWeightless(i);
    }
    // The windows of several lengths: their passes are the row's.
    if (is_passed && children.size() > 1) own->counted = children[i].node;
    AddSkipped(*children[i].node, made->Skipped(i), &own->source);
    sharing_depth_ += children[i].shares_sources;
    PONIENTE_RETURN_IF_ERROR(
        AddNode(*children[i].node, below, {made.get(), i}, own));
    sharing_depth_ -= children[i].shares_sources;
  }
  return absl::OkStatus();
}

void PlanSources::AddSkipped(const DatasetNode& node, double windows,
                             PlannedRunSource* source) const {
  const PackedItems* const packed = PackedItemsOf(node);
  if (packed == nullptr) {
    source->skipped_tokens += windows * max_seq_len_;
    return;
  }
  const PackingSummary& summary = packed->packing_summary();
  source->skipped_tokens +=
      windows * static_cast<double>(summary.window_tokens);
  if (windows == 0) return;
  source->skipped_documents += windows * static_cast<double>(summary.pieces) /
                               static_cast<double>(summary.windows);
}

PlanSources::Row* PlanSources::RowOf(Row* parent, const NamedNode& child) {
  const DatasetNode* counted = child.node;
  const DatasetNode* shown = child.node;
  std::vector<NamedNode> below = shown->children();
  for (; IsPassedThrough(below); below = shown->children()) {
    const bool is_repeat =
        dynamic_cast<const RepeatMap*>(shown->map().get()) != nullptr;
    shown = below[0].node;
    if (is_repeat) counted = shown;
  }
  const bool has_items = child.node->length_now().readable > 0;
  if (child.view > 0 || sharing_depth_ > 0) {
    for (const auto& row : parent->children) {
      if (row->source.name != child.name) continue;
      row->counted = counted;
      row->has_items |= has_items;
      return row.get();
    }
  }
  Row* const row = parent->children.emplace_back(std::make_unique<Row>()).get();
  ++num_rows_;
  row->parent = parent;
  row->counted = counted;
  row->has_items = has_items;
  row->samples.resize(run_.intervals().size());
  row->passes.resize(run_.intervals().size());
  PlannedRunSource& source = row->source;
  source.name = child.name;
  source.is_leaf = below.empty();
  source.kind = source.is_leaf ? "store" : shown->name();
  source.path = JoinedPath(parent->source.path, child.name);
  source.depth = parent == &rows_ ? 0 : parent->source.depth + 1;
  return row;
}

void PlanSources::AddSamples(const Flow& flow, Row* row) {
  for (size_t i = 0; i < flow.intervals(); ++i) {
    row->samples[i] += flow.Samples(i);
  }
  row->source.is_exact &= flow.IsExact();
}

void PlanSources::AddPasses(const DatasetNode& node, const Flow& flow,
                            const TreePosition& place, Row* row) {
  if (!flow.per_epoch.has_value()) return;
  const auto length = static_cast<double>(*flow.per_epoch);
  ++row->views_counted;
  row->per_epoch = length;
  std::optional<uint64_t>& shown = row->source.length;
  if (shown.value_or(0) == 0) {
    shown = flow.per_epoch;
    row->item_tokens = node.item_tokens();
  }
  if (length == 0) return;
  for (size_t i = 0; i < flow.intervals(); ++i) {
    row->passes[i] += flow.Positions(i) / length;
    // The last view that is read; windows of another length do not count.
    if (flow.Positions(i) > 0 && node.item_tokens() == row->item_tokens) {
      shown = flow.per_epoch;
    }
  }
  std::optional<Reached> first = Reached{length, true};
  if (place.above != nullptr) {
    first = place.above->FirstSample(place.child, *first);
  }
  if (!first.has_value()) return;
  std::optional<double>& known = row->second_pass;
  known = std::min(known.value_or(first->earliest), first->earliest);
}

void PlanSources::AddLeaf(const DatasetNode& node, Row* row) {
  const uint32_t number = numbers_[num_leaves_++];
  const uint64_t fingerprint = node.fingerprint();
  uint32_t like = number;
  for (const LikeLeaf& other : row->leaves) {
    if (leaves_[other.leaf].fingerprint == fingerprint) like = other.first;
  }
  leaves_[number] = {row, fingerprint, like};
  row->leaves.push_back({number, like});
  AddStored(node, number < sources_.size() ? &sources_[number] : nullptr,
            &row->source);
}

absl::Status PlanSources::LookUpSamples() {
  const DatasetTree tree(root_);
  std::vector<std::vector<uint64_t>> counts(
      leaves_.size(), std::vector<uint64_t>(run_.intervals().size()));
  ReadParts read(run_.sample_overlap());
  std::vector<Position> positions;
  std::vector<LeafPosition> items;
  uint64_t sample = 0;
  for (size_t i = 0; i < run_.intervals().size(); ++i) {
    while (sample < run_.intervals()[i].end_sample) {
      constexpr uint64_t kAtOnce = 8192;
      const uint64_t first = sample;
      const uint64_t until =
          std::min(run_.intervals()[i].end_sample, sample + kAtOnce);
      positions.clear();
      for (; sample < until; ++sample) positions.push_back({.index = sample});
      items.resize(positions.size());
      PONIENTE_RETURN_IF_ERROR(tree.Resolve(positions, items));
      for (size_t at = 0; at < items.size(); ++at) {
        ++counts[items[at].leaf][i];
        const Leaf& leaf = leaves_[items[at].leaf];
        // As in FindRepeat().
        const bool is_again =
            PackedItemsOf(tree.leaves()[items[at].leaf]) != nullptr &&
            items[at].position.epoch > 0;
        if (!is_again && read.Add({leaf.like, items[at].position})) continue;
        for (Row* row = leaf.row; row != nullptr && !row->first_repeat;
             row = row->parent) {
          row->first_repeat = Repeat{first + at, !is_again};
        }
      }
    }
  }
  for (const Leaf& leaf : leaves_) {
    for (Row* row = leaf.row; row != &rows_; row = row->parent) {
      std::fill(row->samples.begin(), row->samples.end(), 0.0);
      row->source.is_exact = true;
      if (row->views_counted > 1) continue;
      std::fill(row->passes.begin(), row->passes.end(), 0.0);
    }
  }
  for (size_t l = 0; l < leaves_.size(); ++l) {
    for (Row* row = leaves_[l].row; row != &rows_; row = row->parent) {
      for (size_t i = 0; i < counts[l].size(); ++i) {
        const auto samples = static_cast<double>(counts[l][i]);
        row->samples[i] += samples;
        // A sample does not say which view it is of, so the passes of several
        // views stay those of their flows.
        if (row->per_epoch == 0 || row->views_counted > 1) continue;
        const uint32_t parts =
            row->source.packing ? 1 : run_.intervals()[i].parts;
        row->passes[i] += samples / parts / row->per_epoch;
      }
    }
  }
  return absl::OkStatus();
}

void PlanSources::Gather(Row* row) {
  for (const auto& child : row->children) {
    Gather(child.get());
    row->leaves.insert(row->leaves.end(), child->leaves.begin(),
                       child->leaves.end());
    if (!child->second_pass.has_value()) continue;
    row->second_pass = std::min(row->second_pass.value_or(*child->second_pass),
                                *child->second_pass);
  }
  std::sort(
      row->leaves.begin(), row->leaves.end(),
      [](const LikeLeaf& a, const LikeLeaf& b) { return a.leaf < b.leaf; });
}

absl::Status PlanSources::FindRepeats(const DatasetTree& tree,
                                      LookUps* look_ups, size_t* rows_left,
                                      Row* row) {
  const auto end = static_cast<double>(run_.samples());
  if (row->source.length.has_value() && row->second_pass.value_or(end) < end) {
    const uint64_t share = look_ups->left / std::max<size_t>(1, *rows_left);
    const uint64_t own = std::min(
        look_ups->left, std::clamp(share, kLeastForRepeat, kMaxForRepeat));
    LookUps budget = {own};
    PONIENTE_ASSIGN_OR_RETURN(
        row->first_repeat,
        FindRepeat(tree, row->leaves, static_cast<uint64_t>(*row->second_pass),
                   run_.samples(), run_.sample_overlap(), &budget));
    look_ups->left -= own - budget.left;
  }
  *rows_left -= row == &rows_ ? 0 : 1;
  for (const auto& child : row->children) {
    PONIENTE_RETURN_IF_ERROR(
        FindRepeats(tree, look_ups, rows_left, child.get()));
  }
  return absl::OkStatus();
}

void PlanSources::Finish(Row* row, double passes_above, PlannedRun* plan) {
  PlannedRunSource& source = row->source;
  source.samples.assign(run_.stages(), 0.0);
  source.tokens.assign(run_.stages(), 0.0);
  for (size_t i = 0; i < row->samples.size(); ++i) {
    const RunInterval& interval = run_.intervals()[i];
    const double tokens = row->samples[i] * interval.seq_len;
    source.samples[interval.stage] += row->samples[i];
    source.tokens[interval.stage] += tokens;
    if (source.token_bytes == 0) continue;
    const double bytes = tokens * source.token_bytes;
    plan->bytes += bytes;
    plan->stages[interval.stage].bytes_per_step += bytes;
    if (source.packing) continue;  // they are not cut
    plan->cut_off_tokens +=
        row->samples[i] / interval.parts *
        (plan->max_seq_len - double{1} * interval.parts * interval.part_tokens -
         (interval.seq_len - interval.part_tokens));
  }
  if (source.length.has_value()) {
    source.epoch_tokens =
        *source.length * (source.packing ? source.packing->window_tokens
                                         : uint64_t{plan->max_seq_len});
    if (*source.length > 0) {
      source.epochs =
          std::accumulate(row->passes.begin(), row->passes.end(), 0.0);
      source.stage_epochs.assign(run_.stages(), 0.0);
      for (size_t i = 0; i < row->passes.size(); ++i) {
        source.stage_epochs[run_.intervals()[i].stage] += row->passes[i];
      }
    }
  }
  if (row->first_repeat.has_value() && source.length.has_value()) {
    source.first_repeat = {run_.StepOf(row->first_repeat->sample),
                           row->first_repeat->is_exact};
  }
  if (source.total_samples() == 0) {
    source.starved = row->is_weightless ? Starved::kNoWeight
                     : row->has_items   ? Starved::kNotReached
                                        : Starved::kNoWindow;
  }
  const double passes = source.epochs.value_or(0);
  source.is_over_repeated =
      passes > plan->max_repeats && passes > 1.1 * passes_above;
  plan->skipped_tokens += source.skipped_tokens;
  plan->skipped_documents += source.skipped_documents;
  plan->left_over_tokens +=
      static_cast<double>(source.left_over_tokens.value_or(0));
  plan->is_exact &= source.is_exact;
  const double warned = source.is_over_repeated ? passes : passes_above;
  plan->sources.push_back(std::move(source));
  for (const auto& child : row->children) Finish(child.get(), warned, plan);
}

}  // namespace poniente::internal
