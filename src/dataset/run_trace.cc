// SPDX-License-Identifier: Apache-2.0
#include "poniente/run_trace.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dataset/step_sharing.h"
#include "index/max_samples.h"
#include "util/check.h"
#include "util/nearest_name.h"
#include "util/status_macros.h"

namespace poniente {

RunTrace::RunTrace(const DatasetNode& root, Schedule schedule,
                   const SampleSharing& sharing)
    : root_(root),
      tree_(root),
      schedule_(std::move(schedule)),
      sharing_(sharing) {}

uint64_t RunTrace::SamplesBefore(uint64_t step) const {
  const LengthState length = root_.length_now();
  const uint64_t there = length.is_endless && length.is_final
                             ? internal::kMaxSamples
                             : length.readable;
  if (step == 0) return 0;
  if (schedule_.steps() > 0) step = std::min(step, schedule_.steps());
  if (!schedule_.Has(step - 1)) return there;
  const StepPlan last = schedule_.At(step - 1);
  return std::min(there, last.first_sample + last.batch_size);
}

std::optional<uint64_t> RunTrace::steps_there() const {
  const LengthState length = root_.length_now();
  if (length.is_final) return std::nullopt;
  const uint64_t steps = schedule_.steps();
  if (steps > 0 && schedule_.samples() <= length.readable) return std::nullopt;
  if (length.readable == 0) return 0;
  const uint64_t last = schedule_.StepOf(length.readable - 1);
  const StepPlan plan = schedule_.At(last);
  const bool is_whole = plan.first_sample + plan.batch_size <= length.readable;
  return is_whole ? last + 1 : last;
}

absl::StatusOr<StepPlan> RunTrace::PlanOf(uint64_t step) const {
  uint64_t samples = 0;
  StepPlan plan;
  if (schedule_.Has(step)) {
    plan = schedule_.At(step);
    const uint64_t end = SamplesBefore(step + 1);
    samples = end - std::min(end, plan.first_sample);
  }
  if (samples == 0) {
    return absl::OutOfRangeError(
        absl::StrCat("the run has ended: there is no step ", step));
  }
  plan.batch_size = samples;
  return plan;
}

absl::StatusOr<StepPlan> RunTrace::PlanOfWhole(uint64_t step) const {
  const std::optional<uint64_t> there = steps_there();
  if (there.has_value() && step >= *there && schedule_.Has(step)) {
    return absl::OutOfRangeError(absl::StrCat(
        "step ", step, " is not all there yet: a source is still growing, and ",
        *there == 0 ? std::string("no step is")
                    : absl::StrCat("what there is ends with step ", *there - 1),
        "; ask again later"));
  }
  return PlanOf(step);
}

absl::StatusOr<std::vector<SampleOrigin>> RunTrace::Resolve(
    uint64_t step, uint32_t rank, uint32_t ranks) const {
  PONIENTE_ASSIGN_OR_RETURN(const StepPlan plan, PlanOfWhole(step));
  PONIENTE_ASSIGN_OR_RETURN(
      const std::vector<uint64_t> samples,
      internal::StepSharing(tree_, sharing_).SamplesOf(plan, rank, ranks));
  return OriginsOf(plan, samples);
}

absl::StatusOr<std::vector<std::vector<uint64_t>>> RunTrace::WorkOfRanks(
    uint64_t step, uint32_t ranks) const {
  PONIENTE_ASSIGN_OR_RETURN(const StepPlan plan, PlanOfWhole(step));
  std::vector<uint64_t> work;
  PONIENTE_RETURN_IF_ERROR(internal::StepSharing(tree_, sharing_)
                               .FindWork(plan, /*may_read=*/true, &work)
                               .status());
  std::vector<uint64_t> order(work.size());
  std::iota(order.begin(), order.end(), 0);
  if (sharing_.even_work) order = BalancedOrder(work, ranks);
  std::vector<std::vector<uint64_t>> by_rank(ranks);
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    const BatchShare share = RankShare(order.size(), rank, ranks);
    for (uint64_t i = share.begin; i < share.end; ++i) {
      by_rank[rank].push_back(work[order[i]]);
    }
  }
  return by_rank;
}

absl::StatusOr<std::vector<SampleOrigin>> RunTrace::OriginsOf(
    const StepPlan& plan, std::span<const uint64_t> samples) const {
  std::vector<Position> positions(samples.size());
  for (size_t i = 0; i < samples.size(); ++i) positions[i].index = samples[i];
  std::vector<LeafPosition> items(positions.size());
  PONIENTE_RETURN_IF_ERROR(tree_.Resolve(positions, items));
  std::vector<SampleOrigin> origins(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    const Position& at = items[i].position;
    origins[i].position = samples[i] - plan.first_sample;
    origins[i].sample = samples[i];
    origins[i].leaf = items[i].leaf;
    origins[i].path = tree_.leaves()[items[i].leaf].path;
    origins[i].item = at.index;
    origins[i].epoch = at.epoch;
    origins[i].token_begin = at.part_begin;
    origins[i].token_end =
        at.part_begin +
        (at.part_length == kWholeItem ? plan.seq_len : at.part_length);
  }
  return origins;
}

absl::Status RunTrace::ScanForItem(uint32_t leaf, Index item,
                                   const IndexSpan& span,
                                   std::vector<Reading>* readings) const {
  const uint64_t first = schedule_.StepOf(span.first.index);
  const uint64_t last = schedule_.StepOf(span.last.index);
  for (uint64_t step = first; step <= last; ++step) {
    PONIENTE_ASSIGN_OR_RETURN(const StepPlan plan, PlanOf(step));
    std::vector<uint64_t> samples(plan.batch_size);
    std::iota(samples.begin(), samples.end(), plan.first_sample);
    PONIENTE_ASSIGN_OR_RETURN(const std::vector<SampleOrigin> origins,
                              OriginsOf(plan, samples));
    for (const SampleOrigin& origin : origins) {
      if (origin.leaf != leaf || origin.item != item) continue;
      readings->push_back({step, origin.position, origin.sample, origin.epoch,
                           origin.token_begin, origin.token_end});
    }
  }
  return absl::OkStatus();
}

absl::Status RunTrace::AppendReadings(uint32_t leaf, Index item,
                                      const IndexSpan& span,
                                      std::vector<Reading>* readings) const {
  PONIENTE_ASSIGN_OR_RETURN(const auto epochs, tree_.EpochsOf(leaf, span));
  if (!epochs.has_value()) return absl::OkStatus();
  // With more epochs than samples, resolves the samples instead. (Below a
  // shuffle the span has all epochs of the whole order, most of which belong to
  // other samples.)
  if (epochs->last - epochs->first > span.last.index - span.first.index) {
    return ScanForItem(leaf, item, span, readings);
  }
  for (uint64_t epoch = epochs->first;; ++epoch) {
    PONIENTE_RETURN_IF_ERROR(AppendOfEpoch(leaf, item, epoch, span, readings));
    if (epoch == epochs->last) return absl::OkStatus();
  }
}

absl::Status RunTrace::AppendOfEpoch(uint32_t leaf, Index item, uint64_t epoch,
                                     const IndexSpan& span,
                                     std::vector<Reading>* readings) const {
  PONIENTE_ASSIGN_OR_RETURN(const std::vector<FoundPart> found,
                            tree_.FindParts(leaf, item, epoch));
  for (const FoundPart& part : found) {
    const uint64_t sample = part.position.index;
    if (part.position.epoch != 0 || sample < span.first.index ||
        sample > span.last.index) {
      continue;
    }
    const uint64_t step = schedule_.StepOf(sample);
    const StepPlan plan = schedule_.At(step);
    const uint32_t tokens =
        part.part_length == kWholeItem ? plan.seq_len : part.part_length;
    readings->push_back({step, sample - plan.first_sample, sample, epoch,
                         part.part_begin, part.part_begin + tokens});
  }
  return absl::OkStatus();
}

std::optional<IndexSpan> RunTrace::SamplesOf(uint64_t first_step,
                                             uint64_t end_step) const {
  const uint64_t begin = SamplesBefore(first_step);
  const uint64_t end = SamplesBefore(end_step);
  if (begin >= end) return std::nullopt;
  return IndexSpan{{.index = begin}, {.index = end - 1}};
}

absl::StatusOr<std::vector<Reading>> RunTrace::FindInEpoch(
    uint32_t leaf, Index item, uint64_t epoch, uint64_t first_step,
    uint64_t end_step) const {
  std::vector<Reading> readings;
  const std::optional<IndexSpan> span = SamplesOf(first_step, end_step);
  if (!span.has_value()) return readings;
  PONIENTE_RETURN_IF_ERROR(AppendOfEpoch(leaf, item, epoch, *span, &readings));
  return readings;
}

absl::Status RunTrace::ForEachEpoch(
    uint32_t leaf, uint64_t first_step, uint64_t end_step,
    const std::function<absl::Status(uint64_t)>& visit) const {
  const std::optional<IndexSpan> span = SamplesOf(first_step, end_step);
  if (!span.has_value()) return absl::OkStatus();
  PONIENTE_ASSIGN_OR_RETURN(const auto all, tree_.EpochsOf(leaf, *span));
  if (!all.has_value()) return absl::OkStatus();
  if (all->last - all->first <= span->last.index - span->first.index) {
    for (uint64_t epoch = all->first; epoch <= all->last; ++epoch) {
      PONIENTE_RETURN_IF_ERROR(visit(epoch));
    }
    return absl::OkStatus();
  }
  // As in AppendReadings().
  constexpr uint64_t kAtOnce = 8192;
  std::vector<uint64_t> epochs;
  std::vector<Position> positions;
  std::vector<LeafPosition> items;
  for (uint64_t sample = span->first.index; sample <= span->last.index;) {
    positions.clear();
    while (sample <= span->last.index && positions.size() < kAtOnce) {
      positions.push_back({.index = sample++});
    }
    items.resize(positions.size());
    PONIENTE_RETURN_IF_ERROR(tree_.Resolve(positions, items));
    for (const LeafPosition& item : items) {
      if (item.leaf == leaf) epochs.push_back(item.position.epoch);
    }
    std::sort(epochs.begin(), epochs.end());
    epochs.erase(std::unique(epochs.begin(), epochs.end()), epochs.end());
  }
  for (const uint64_t epoch : epochs) PONIENTE_RETURN_IF_ERROR(visit(epoch));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Reading>> RunTrace::FindInLeaves(
    std::span<const uint32_t> leaves, Index item, uint64_t first_step,
    uint64_t end_step) const {
  uint64_t length = 0;
  for (const uint32_t leaf : leaves) {
    PONIENTE_CHECK(leaf < tree_.leaves().size()) << "leaf " << leaf;
    const DatasetNode& node = *tree_.leaves()[leaf].node;
    length = std::max(length, node.length_now().readable);
  }
  if (item >= length) {
    return absl::OutOfRangeError(absl::StrCat("item ", item, " of '",
                                              tree_.leaves()[leaves[0]].path,
                                              "', which has ", length));
  }
  std::vector<Reading> readings;
  const std::optional<IndexSpan> span = SamplesOf(first_step, end_step);
  if (!span.has_value()) return readings;
  for (const uint32_t leaf : leaves) {
    PONIENTE_RETURN_IF_ERROR(AppendReadings(leaf, item, *span, &readings));
  }
  std::sort(
      readings.begin(), readings.end(),
      [](const Reading& a, const Reading& b) { return a.sample < b.sample; });
  return readings;
}

absl::StatusOr<std::vector<Reading>> RunTrace::FindInLeaf(
    uint32_t leaf, Index item, uint64_t first_step, uint64_t end_step) const {
  return FindInLeaves(std::span(&leaf, 1), item, first_step, end_step);
}

absl::StatusOr<std::vector<Reading>> RunTrace::Find(std::string_view path,
                                                    Index item,
                                                    uint64_t first_step,
                                                    uint64_t end_step) const {
  std::vector<uint32_t> leaves;
  for (uint32_t leaf = 0; leaf < tree_.leaves().size(); ++leaf) {
    if (tree_.leaves()[leaf].path == path) leaves.push_back(leaf);
  }
  if (!leaves.empty()) return FindInLeaves(leaves, item, first_step, end_step);
  std::vector<std::string> paths;
  for (const TreeLeaf& leaf : tree_.leaves()) paths.push_back(leaf.path);
  return absl::NotFoundError(absl::StrCat("no dataset at '",
                                          internal::Absl(path), "'",
                                          internal::DidYouMean(path, paths)));
}

}  // namespace poniente
