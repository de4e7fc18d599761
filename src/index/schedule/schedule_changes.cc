// SPDX-License-Identifier: Apache-2.0
// Implements what a Schedule says of its changes, and is told of further ones.
#include <algorithm>
#include <utility>

#include "index/schedule/schedule_state.h"
#include "index/schedule/step_changes.h"
#include "poniente/schedule.h"
#include "util/status_macros.h"

namespace poniente {

std::vector<PlannedChange> Schedule::changes() const {
  std::vector<PlannedChange> all = state_->changes;
  for (size_t d = 0; d < state_->decisions.size(); ++d) {
    all.push_back(state_->decisions[d]);
  }
  return internal::SortedChanges(*this, std::move(all));
}

std::vector<StepChange> Schedule::ChangesAt(uint64_t step) const {
  const internal::SharedList<PlannedChange>& decisions = state_->decisions;
  const auto first = std::lower_bound(
      state_->changes.begin(), state_->changes.end(), step,
      [](const PlannedChange& one, uint64_t at) { return one.step < at; });
  std::vector<PlannedChange> found;
  for (auto one = first; one != state_->changes.end() && one->step == step;
       ++one) {
    found.push_back(*one);
  }
  size_t d = decisions.CountUntil(
      [step](const PlannedChange& one) { return one.step >= step; });
  for (; d < decisions.size() && decisions[d].step == step; ++d) {
    found.push_back(decisions[d]);
  }
  std::vector<StepChange> changes;
  for (PlannedChange& one : internal::SortedChanges(*this, std::move(found))) {
    changes.push_back(std::move(one.change));
  }
  return changes;
}

Schedule Schedule::WithChanges(std::vector<PlannedChange> further) const {
  auto state = std::make_shared<State>(*state_);
  further.insert(further.end(), state->changes.begin(), state->changes.end());
  state->changes = internal::SortedChanges(*this, std::move(further));
  return Schedule(std::move(state));
}

std::vector<PlannedChange> Schedule::nested_changes() const {
  std::vector<PlannedChange> nested;
  for (const PlannedChange& one : state_->changes) {
    if (!one.change.mixture.empty()) nested.push_back(one);
  }
  return nested;
}

Schedule Schedule::WithNestedChanges(std::vector<PlannedChange> nested) const {
  auto state = std::make_shared<State>(*state_);
  std::erase_if(state->changes, [](const PlannedChange& one) {
    return !one.change.mixture.empty();
  });
  return Schedule(std::move(state)).WithChanges(std::move(nested));
}

Schedule Schedule::WithDecided(
    std::span<const MixtureDecision> decisions) const {
  auto state = std::make_shared<State>(*state_);
  for (PlannedChange& one : internal::ChangesOf(*this, decisions)) {
    state->decisions.Append(std::move(one));
  }
  return Schedule(std::move(state));
}

absl::StatusOr<Schedule> Schedule::With(
    std::span<const MixtureDecision> decisions) const {
  if (!state_->mixture || decisions.empty()) return *this;
  auto state = std::make_shared<State>(*state_);
  PONIENTE_ASSIGN_OR_RETURN(state->mixture, state->mixture->With(decisions));
  std::vector<PlannedChange> made = internal::ChangesOf(*this, decisions);
  internal::EraseRampEnds(made, &state->changes);
  for (PlannedChange& one : made) state->decisions.Append(std::move(one));
  return Schedule(std::move(state));
}

}  // namespace poniente
