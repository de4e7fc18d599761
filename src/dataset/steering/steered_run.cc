// SPDX-License-Identifier: Apache-2.0
#include "dataset/steering/steered_run.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "dataset/steering/change_places.h"
#include "dataset/steering/dropped_source.h"
#include "dataset/steering/opened_component.h"
#include "dataset/steering/placed_changes.h"
#include "dataset/steering/split_component.h"
#include "index/max_samples.h"
#include "poniente/extend/infilled_dataset.h"
#include "poniente/mixture_dataset.h"
#include "util/nearest_name.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

using Tokens = DatasetPtr<TokenWindow>;
using Mixture = MixtureDataset<TokenWindow>;
using Kind = RunChange::Kind;

absl::Status NoMixture(const DatasetNode& node, std::string_view name,
                       Kind kind) {
  if (kind == Kind::kDrop) {
    return absl::InvalidArgumentError(absl::StrCat(
        name.empty() ? std::string("the root")
                     : absl::StrCat("'", Absl(name), "'"),
        " is no mixture; documents can be dropped from the components of a "
        "mixture: describe the run as a mixture of one source"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(name.empty() ? std::string("the root")
                                : absl::StrCat("'", Absl(name), "'"),
                   " is no mixture but '", node.name(),
                   "': it has no weights that a change could set"));
}

// Entries about one mixture.
struct MixtureChanges {
  std::span<const JournalEntry> entries;
  std::vector<std::string> path;  // to the mixture
  // What the only entry adds; empty for other kinds.
  std::vector<OpenedComponent> added = {};
};

MixtureDecision DecisionOf(const JournalEntry& entry, uint64_t start) {
  MixtureDecision decision;
  decision.start = start;
  decision.label = LabelOf(entry);
  switch (entry.change.kind) {
    case Kind::kWeights:
      decision.weights = entry.change.weights;
      break;
    case Kind::kTemperature:
      decision.temperature = entry.change.temperature;
      break;
    case Kind::kRetire:
      decision.retired = entry.change.components;
      break;
    case Kind::kExtend:
    case Kind::kDrop:
    case Kind::kAdd:
    case Kind::kSplit:
      break;
  }
  return decision;
}

// Returns the decisions of the changes, for a plan of the root mixture alone.
std::vector<MixtureDecision> DecisionsOf(const MixtureChanges& changes) {
  std::vector<MixtureDecision> decisions;
  for (const JournalEntry& entry : changes.entries) {
    decisions.push_back(DecisionOf(entry, entry.sample));
  }
  for (const OpenedComponent& one : changes.added) {
    const MixtureComponent<TokenWindow>& component = one.part.component;
    decisions[0].added.push_back(
        {component.name, component.weight, component.dataset->CurrentLength()});
  }
  const RunChange& first = changes.entries.front().change;
  if (first.kind == Kind::kSplit) decisions[0].retired = first.components;
  return decisions;
}

// Whether consecutive changes of these kinds are made in one step.
bool SharesStep(Kind kind) {
  return kind == Kind::kWeights || kind == Kind::kTemperature ||
         kind == Kind::kRetire;
}

// Returns the mixture with what the only entry adds.
absl::StatusOr<Tokens> WithAdded(const Mixture& mixture, bool is_root,
                                 const MixtureChanges& changes,
                                 uint64_t served) {
  const JournalEntry& entry = changes.entries.front();
  for (const OpenedComponent& one : changes.added) {
    const bool ends = one.part.component.max_epochs.has_value();
    if (is_root || (one.part.views.empty() && !ends)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "'", one.part.component.name,
        "' is added to a mixture below the root, which cannot have ",
        ends ? "max_epochs: it must not end"
             : "packed windows of several lengths",
        "; add it to the root mixture"));
  }
  PONIENTE_ASSIGN_OR_RETURN(const MixturePlan plan, mixture.plan());
  const MixtureDecision decision =
      DecisionOf(entry, is_root ? served : BeginOf(plan, entry.change, served));
  if (entry.change.kind == Kind::kSplit) {
    return Split(mixture, entry.change.components[0], changes.added, decision,
                 entry.number);
  }
  return mixture.WithAdded(changes.added[0].part, decision, entry.number);
}

// Returns the mixture under the changes that are about itself. A mixture below
// the root changes with the block that begins next.
absl::StatusOr<Tokens> Decided(const Mixture& mixture, bool is_root,
                               const MixtureChanges& changes,
                               const std::vector<uint64_t>& served) {
  PONIENTE_ASSIGN_OR_RETURN(MixturePlan plan, mixture.plan());
  std::vector<MixtureDecision> decisions;
  for (size_t i = 0; i < served.size(); ++i) {
    const JournalEntry& entry = changes.entries[i];
    decisions.push_back(DecisionOf(
        entry, is_root ? served[i] : BeginOf(plan, entry.change, served[i])));
    if (is_root) continue;
    // Its blocks begin anew where it changes.
    PONIENTE_ASSIGN_OR_RETURN(plan, plan.With(std::span(&decisions[i], 1)));
  }
  return mixture.With(decisions);
}

// Returns the node under the changes. `depth` names lead to it; its first
// served[i] samples may have been served before change i.
absl::StatusOr<Tokens> Changed(const Tokens& node, size_t depth,
                               const MixtureChanges& changes,
                               const std::vector<uint64_t>& served) {
  const bool is_root = depth == 0;
  const std::string_view name =
      is_root ? std::string_view() : changes.path[depth - 1];
  const auto* const mixture = dynamic_cast<const Mixture*>(node.get());
  const RunChange& first = changes.entries.front().change;
  if (mixture == nullptr) return NoMixture(*node, name, first.kind);
  if (!is_root && node->IsFinite()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "mixture '", Absl(name),
        "' ends, so its epochs are shuffled as a whole: its weights cannot "
        "change during the run"));
  }
  if (depth == changes.path.size()) {
    if (first.kind == Kind::kDrop) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", Absl(name), "' is a mixture; name one of its sources"));
    }
    if (!changes.added.empty()) {
      return WithAdded(*mixture, is_root, changes, served.front());
    }
    return Decided(*mixture, is_root, changes, served);
  }
  const std::string& next = changes.path[depth];
  const Tokens below = mixture->component(next);
  if (below == nullptr) {
    std::vector<std::string> names;
    for (const NamedNode& child : mixture->children()) {
      names.push_back(child.name);
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "unknown component '", next, "'", DidYouMean(next, names)));
  }
  PONIENTE_ASSIGN_OR_RETURN(const MixturePlan plan, mixture->plan());
  if (first.kind == Kind::kDrop && below->IsFinite()) {
    const uint64_t start =
        is_root ? served.front() : BeginOf(plan, first, served.front());
    return WithoutDropped(*mixture,
                          {next, std::span(changes.path).subspan(depth + 1)},
                          start, first);
  }
  const uint32_t number = plan.Find(next).value();
  std::vector<uint64_t> below_served;
  for (const uint64_t samples : served) {
    const uint64_t end = is_root ? samples : BeginOf(plan, first, samples);
    below_served.push_back(ServedBelow(plan, number, *below, end));
  }
  PONIENTE_ASSIGN_OR_RETURN(Tokens changed,
                            Changed(below, depth + 1, changes, below_served));
  return mixture->WithComponent(next, std::move(changed));
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

// Puts what fills documents in the middle above the changed mixture again, also
// for sources that were added.
absl::StatusOr<Tokens> Infilled(const InfilledDataset& infilled, Tokens changed,
                                const MixtureChanges& changes) {
  std::vector<InfilledSource> added;
  for (const OpenedComponent& one : changes.added) {
    for (InfilledSource source : one.infilled) {
      source.is_added = true;
      added.push_back(std::move(source));
    }
  }
  if (added.empty()) return infilled.Over(std::move(changed));
  return infilled.Over(std::move(changed), std::move(added));
}

// If the root fills nothing in the middle, nothing that is added can.
absl::Status CheckNotInfilled(const MixtureChanges& changes) {
  for (const OpenedComponent& one : changes.added) {
    if (one.infilled.empty()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("'", one.infilled[0].path,
                     "' is to be filled in the middle, but no source of the "
                     "run is: the run must begin with one"));
  }
  return absl::OkStatus();
}

absl::Status ChangeMixture(const MixtureChanges& changes, SteeredRun* run) {
  std::vector<uint64_t> starts;
  for (const JournalEntry& entry : changes.entries) {
    starts.push_back(entry.sample);
  }
  // What fills documents in the middle stays above the mixture.
  const InfilledDataset* const infilled = InfilledOf(*run->dataset);
  absl::StatusOr<Tokens> changed =
      Changed(infilled == nullptr ? run->dataset : infilled->child(), 0,
              changes, starts);
  if (changed.ok() && infilled != nullptr) {
    changed = Infilled(*infilled, *std::move(changed), changes);
  } else if (changed.ok()) {
    const absl::Status plain = CheckNotInfilled(changes);
    if (!plain.ok()) changed = plain;
  }
  if (!changed.ok()) {
    const std::string change =
        absl::StrCat("change ", changes.entries.front().number);
    // Errors of a decision have its label already.
    const bool is_labelled = absl::StartsWith(changed.status().message(),
                                              absl::StrCat(change, " at "));
    return is_labelled ? changed.status() : Prepend(changed.status(), change);
  }
  run->dataset = *std::move(changed);
  if (!changes.path.empty()) return absl::OkStatus();
  PONIENTE_ASSIGN_OR_RETURN(run->schedule,
                            run->schedule.With(DecisionsOf(changes)));
  return absl::OkStatus();
}

absl::Status Add(const JournalEntry& entry, const ComponentOpener& open,
                 MixtureChanges changes, SteeredRun* run) {
  for (const ComponentText& text : entry.change.added) {
    absl::StatusOr<OpenedComponent> opened =
        OpenAdded(entry.change.path, text, open);
    if (!opened.ok()) return Prepend(opened.status(), LabelOf(entry));
    changes.added.push_back(*std::move(opened));
  }
  PONIENTE_RETURN_IF_ERROR(ChangeMixture(changes, run));
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
        PONIENTE_RETURN_IF_ERROR(first.change.added.empty()
                                     ? ChangeMixture(changes, &run)
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
