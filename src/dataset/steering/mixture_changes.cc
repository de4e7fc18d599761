// SPDX-License-Identifier: Apache-2.0
#include "dataset/steering/mixture_changes.h"

#include <cstddef>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "dataset/steering/change_places.h"
#include "dataset/steering/dropped_source.h"
#include "dataset/steering/opened_component.h"
#include "dataset/steering/placed_changes.h"
#include "dataset/steering/split_component.h"
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

}  // namespace

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

absl::Status ChangeMixture(const MixtureChanges& changes, Tokens* dataset,
                           Schedule* schedule) {
  std::vector<uint64_t> starts;
  for (const JournalEntry& entry : changes.entries) {
    starts.push_back(entry.sample);
  }
  // What fills documents in the middle stays above the mixture.
  const InfilledDataset* const infilled = InfilledOf(**dataset);
  absl::StatusOr<Tokens> changed = Changed(
      infilled == nullptr ? *dataset : infilled->child(), 0, changes, starts);
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
  *dataset = *std::move(changed);
  if (!changes.path.empty()) return absl::OkStatus();
  PONIENTE_ASSIGN_OR_RETURN(*schedule, schedule->With(DecisionsOf(changes)));
  return absl::OkStatus();
}

}  // namespace poniente::internal
