// SPDX-License-Identifier: Apache-2.0
#include "dataset/steering/placed_changes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "dataset/steering/change_places.h"
#include "index/schedule/step_changes.h"
#include "util/one_line.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

using ChangeKind = StepChange::Kind;

// Finds steps from samples of mixtures below the root.
class PlacesBelow {
 public:
  PlacesBelow(const DatasetNode& root, const Schedule& schedule)
      : root_(root), schedule_(schedule) {}

  // Changes the step of a change of a nested mixture; false if the run does not
  // reach it. Leaves it where no number of samples says where the mixture is.
  absl::StatusOr<bool> Place(PlannedChange* change) {
    const std::string& path = change->change.mixture;
    auto known = levels_.find(path);
    if (known == levels_.end()) {
      PONIENTE_ASSIGN_OR_RETURN(std::vector<MixtureLevel> levels,
                                LevelsAbove(root_, path));
      known = levels_.emplace(path, std::move(levels)).first;
    }
    const std::vector<MixtureLevel>& levels = known->second;
    if (levels.empty()) return true;
    const std::optional<uint64_t> step =
        change->change.kind == ChangeKind::kDecision
            ? StepOfDecision(levels, change->mixture_sample)
            : StepOfStage(levels, change->mixture_sample);
    if (step) change->step = *step;
    return step.has_value();
  }

 private:
  // As Steer() says.
  std::optional<uint64_t> StepOfDecision(
      const std::vector<MixtureLevel>& levels, uint64_t start) const {
    const std::optional<uint64_t> sample = HoldsFromSample(levels, start);
    if (!sample) return std::nullopt;
    const uint64_t step = StepOrEnd(schedule_, *sample);
    if (!schedule_.Has(step)) return std::nullopt;
    return step;
  }

  // As the description of the run places it.
  std::optional<uint64_t> StepOfStage(const std::vector<MixtureLevel>& levels,
                                      uint64_t start) const {
    const auto before = [&levels](uint64_t sample) {
      for (const MixtureLevel& level : levels) sample = level.Served(sample);
      return sample;
    };
    return StepFromItem(schedule_, before, start);
  }

  const DatasetNode& root_;
  const Schedule& schedule_;
  std::map<std::string, std::vector<MixtureLevel>> levels_;
};

// Masks hold from a sample of the run on, for whatever mixture.
bool ChangesBelowRoot(const JournalEntry& entry) {
  return !entry.change.path.empty() && !entry.change.masks;
}

// What an entry changes below the root.
struct NestedDecision {
  PlannedChange change;
  bool ends_ramps = false;
};

absl::StatusOr<std::optional<NestedDecision>> DecisionBelow(
    const DatasetNode& root, const JournalEntry& entry) {
  PONIENTE_ASSIGN_OR_RETURN(const ChangePlace place,
                            FindChangePlace(root, entry));
  if (place.depth == 0) return std::optional<NestedDecision>();
  const std::vector<std::string> names = absl::StrSplit(entry.change.path, '/');
  NestedDecision decision;
  decision.change.change = {
      ChangeKind::kDecision,
      absl::StrJoin(names.begin(),
                    names.begin() + static_cast<ptrdiff_t>(place.depth), "/"),
      LabelOf(entry)};
  decision.change.mixture_sample = place.start;
  decision.ends_ramps = entry.change.kind != RunChange::Kind::kDrop;
  return std::optional<NestedDecision>(std::move(decision));
}

// A ramp of this mixture that still runs there has no end any more.
void EraseRampEnd(const PlannedChange& decision,
                  std::vector<PlannedChange>* nested) {
  auto next = nested->end();  // start or end of a ramp, behind the decision
  for (auto one = nested->begin(); one != nested->end(); ++one) {
    const ChangeKind kind = one->change.kind;
    if (one->change.mixture != decision.change.mixture ||
        one->mixture_sample <= decision.mixture_sample ||
        (kind != ChangeKind::kRampStart && kind != ChangeKind::kRampEnd)) {
      continue;
    }
    if (next == nested->end() || one->mixture_sample < next->mixture_sample) {
      next = one;
    }
  }
  if (next == nested->end()) return;
  if (next->change.kind == ChangeKind::kRampEnd) nested->erase(next);
}

}  // namespace

std::string LabelOf(const JournalEntry& entry) {
  const std::string& why = entry.change.why;
  return absl::StrCat("change ", entry.number, " at sample ", entry.sample,
                      why.empty() ? "" : absl::StrCat(" (", OneLine(why), ")"));
}

absl::StatusOr<Schedule> WithPlacedChanges(
    const DatasetNode& root, const Schedule& schedule,
    std::span<const JournalEntry> entries) {
  if (entries.empty()) return schedule;
  std::vector<PlannedChange> nested = schedule.nested_changes();
  std::vector<PlannedChange> decided;
  for (const JournalEntry& entry : entries) {
    if (!ChangesBelowRoot(entry)) continue;
    PONIENTE_ASSIGN_OR_RETURN(const std::optional<NestedDecision> decision,
                              DecisionBelow(root, entry));
    if (!decision) continue;
    if (decision->ends_ramps) EraseRampEnd(decision->change, &nested);
    decided.push_back(decision->change);
  }
  if (nested.empty() && decided.empty()) return schedule;
  // What comes before the first entry stays.
  const uint64_t first_step = StepOrEnd(schedule, entries.front().sample);
  PlacesBelow places(root, schedule);
  std::vector<PlannedChange> placed;
  for (std::vector<PlannedChange>* const list : {&nested, &decided}) {
    for (PlannedChange& one : *list) {
      if (list == &decided || one.step >= first_step) {
        PONIENTE_ASSIGN_OR_RETURN(const bool is_reached, places.Place(&one));
        if (!is_reached) continue;
      }
      placed.push_back(std::move(one));
    }
  }
  return schedule.WithNestedChanges(std::move(placed));
}

}  // namespace poniente::internal
