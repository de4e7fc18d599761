// SPDX-License-Identifier: Apache-2.0
// Implements what a Schedule says of its changes, and is told of further ones.
#include <utility>

#include "index/schedule/schedule_state.h"
#include "index/schedule/step_changes.h"
#include "poniente/schedule.h"
#include "util/status_macros.h"

namespace poniente {

std::span<const PlannedChange> Schedule::changes() const {
  return state_->changes;
}

Schedule Schedule::WithChanges(std::vector<PlannedChange> further) const {
  auto state = std::make_shared<State>(*state_);
  further.insert(further.end(), state->changes.begin(), state->changes.end());
  state->changes = internal::SortedChanges(*this, std::move(further));
  return Schedule(std::move(state));
}

absl::StatusOr<Schedule> Schedule::With(
    std::span<const MixtureDecision> decisions) const {
  if (!state_->mixture || decisions.empty()) return *this;
  auto state = std::make_shared<State>(*state_);
  PONIENTE_ASSIGN_OR_RETURN(state->mixture, state->mixture->With(decisions));
  state->changes =
      internal::WithDecisions(*this, std::move(state->changes), decisions);
  return Schedule(std::move(state));
}

}  // namespace poniente
