// SPDX-License-Identifier: Apache-2.0
#include "dataset/steering/steered_run.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "dataset/steering/change_places.h"
#include "dataset/steering/mixture_changes.h"
#include "dataset/steering/opened_component.h"
#include "dataset/steering/placed_changes.h"
#include "dataset/steering/split_component.h"
#include "index/max_samples.h"
#include "poniente/extend/infilled_dataset.h"
#include "poniente/mixture_dataset.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

using Tokens = DatasetPtr<TokenWindow>;
using Mixture = MixtureDataset<TokenWindow>;
using Kind = RunChange::Kind;

// Whether consecutive changes of these kinds are made in one step.
bool SharesStep(Kind kind) {
  return kind == Kind::kWeights || kind == Kind::kTemperature ||
         kind == Kind::kRetire;
}

absl::Status Extend(const JournalEntry& entry, SteeredRun* run) {
  absl::StatusOr<Schedule> extended =
      run->schedule.Extended(entry.change.steps);
  if (!extended.ok()) return Prepend(extended.status(), LabelOf(entry));
  run->schedule = *std::move(extended);
  return absl::OkStatus();
}

// The data must not end before the run does, if they did not before.
absl::Status CheckEnd(const SteeredRun& before, const SteeredRun& run,
                      const JournalEntry& entry) {
  const auto ends_early = [](const SteeredRun& one) {
    const std::optional<uint64_t> length = one.dataset->CurrentLength();
    return length.has_value() && *length < one.schedule.samples();
  };
  if (!ends_early(run) || ends_early(before)) return absl::OkStatus();
  const bool is_mixture =
      dynamic_cast<const Mixture*>(&BelowInfilling(*run.dataset)) != nullptr;
  return absl::InvalidArgumentError(absl::StrCat(
      LabelOf(entry), ": the data would end after ",
      *run.dataset->CurrentLength(),
      " samples, before the run does, which has ", run.schedule.samples(), "; ",
      is_mixture
          ? "weights, steps and what is dropped must leave enough (raise "
            "max_epochs), or the mixture must restart "
            "(stop_rule = \"restart\")"
          : "the root is no mixture, so it is read once more only if the "
            "description of the run says so: state more steps there, and "
            "resume"));
}

// Tells the schedule of an entry that neither the root mixture's plan nor those
// below it know: it extends the run, masks, or drops from a component of the
// root.
absl::Status Note(const JournalEntry& entry, SteeredRun* run) {
  const bool drops = entry.change.kind == Kind::kDrop && !entry.change.masks;
  if (drops) {
    PONIENTE_ASSIGN_OR_RETURN(const ChangePlace place,
                              FindChangePlace(*run->dataset, entry));
    if (place.depth > 0) return absl::OkStatus();
  } else if (entry.change.kind != Kind::kExtend && !entry.change.masks) {
    return absl::OkStatus();
  }
  const MixtureDecision decision = DecisionOf(entry, entry.sample);
  run->schedule = run->schedule.WithDecided(std::span(&decision, 1));
  return absl::OkStatus();
}

// What can be read while a source grows must not have to wait for its end.
absl::Status CheckGrowth(const SteeredRun& before, const SteeredRun& run,
                         const JournalEntry& entry) {
  if (run.dataset->length_now().is_final || run.dataset->map() != nullptr ||
      before.dataset->map() == nullptr) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      LabelOf(entry),
      ": a source that it changes is still being written, and the change needs "
      "all of it: wait until it is complete, or give the component a weight of "
      "0",
      entry.change.kind == RunChange::Kind::kDrop && !entry.change.drops_items
          ? ", or mask the documents (`masked`)"
          : ""));
}

absl::Status Add(const JournalEntry& entry, const ComponentOpener& open,
                 MixtureChanges changes, SteeredRun* run) {
  for (const ComponentText& text : entry.change.added) {
    absl::StatusOr<OpenedComponent> opened =
        OpenAdded(entry.change.path, text, open);
    if (!opened.ok()) return Prepend(opened.status(), LabelOf(entry));
    changes.added.push_back(*std::move(opened));
  }
  PONIENTE_RETURN_IF_ERROR(
      ChangeMixture(changes, &run->dataset, &run->schedule));
  if (entry.change.kind == Kind::kSplit) {
    PONIENTE_ASSIGN_OR_RETURN(
        run->dataset, WithPartsMasked(std::move(run->dataset), entry.change));
  }
  for (const OpenedComponent& one : changes.added) {
    if (one.when_made) run->when_made.push_back(one.when_made);
    run->loss_weights.insert(one.loss_weights.begin(), one.loss_weights.end());
  }
  return absl::OkStatus();
}

absl::Status Mask(const JournalEntry& entry, SteeredRun* run) {
  absl::StatusOr<Tokens> masked = InfilledDataset::WithMask(
      run->dataset,
      {entry.change.path, entry.sample,
       std::make_shared<const std::vector<NumberRange>>(entry.change.dropped)});
  if (!masked.ok()) return Prepend(masked.status(), LabelOf(entry));
  run->dataset = *std::move(masked);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SteeredRun> Steered(SteeredRun run,
                                   std::span<const JournalEntry> all,
                                   const ComponentOpener& open) {
  std::span<const JournalEntry> entries = all;
  for (const JournalEntry& entry : entries) {
    if (entry.sample < kMaxSamples) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(LabelOf(entry), ": samples are below ", kMaxSamples));
  }
  while (!entries.empty()) {
    const JournalEntry& first = entries.front();
    const SteeredRun before = run;
    size_t count = 1;
    switch (first.change.kind) {
      case Kind::kExtend:
        PONIENTE_RETURN_IF_ERROR(Extend(first, &run));
        break;
      case Kind::kWeights:
      case Kind::kTemperature:
      case Kind::kRetire:
      case Kind::kDrop:
      case Kind::kAdd:
      case Kind::kSplit: {
        if (first.change.masks) {
          PONIENTE_RETURN_IF_ERROR(Mask(first, &run));
          break;
        }
        const auto is_same = [&first](const JournalEntry& entry) {
          return SharesStep(entry.change.kind) &&
                 SharesStep(first.change.kind) &&
                 entry.change.path == first.change.path;
        };
        while (count < entries.size() && is_same(entries[count])) ++count;
        MixtureChanges changes;
        changes.entries = entries.first(count);
        if (!first.change.path.empty()) {
          changes.path = absl::StrSplit(first.change.path, '/');
        }
        PONIENTE_RETURN_IF_ERROR(
            first.change.added.empty()
                ? ChangeMixture(changes, &run.dataset, &run.schedule)
                : Add(first, open, changes, &run));
        break;
      }
    }
    PONIENTE_RETURN_IF_ERROR(CheckEnd(before, run, first));
    PONIENTE_RETURN_IF_ERROR(Note(first, &run));
    PONIENTE_RETURN_IF_ERROR(CheckGrowth(before, run, first));
    entries = entries.subspan(count);
  }
  PONIENTE_ASSIGN_OR_RETURN(run.schedule,
                            WithPlacedChanges(*run.dataset, run.schedule, all));
  return run;
}

uint64_t EarliestChange(const AsyncDataset<TokenWindow>& root,
                        const RunChange& change, uint64_t sample) {
  const auto* const mixture =
      dynamic_cast<const Mixture*>(&BelowInfilling(root));
  if (mixture != nullptr) {
    const absl::StatusOr<MixturePlan> plan = mixture->plan();
    if (plan.ok()) return BeginOf(*plan, change, sample);
  }
  return std::max<uint64_t>(sample, 1);
}

}  // namespace poniente::internal
