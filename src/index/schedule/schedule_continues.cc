// SPDX-License-Identifier: Apache-2.0
// Implements Schedule::CheckContinues(): whether a run may continue with
// another schedule.
#include "absl/strings/str_cat.h"
#include "index/schedule/schedule_state.h"
#include "poniente/schedule.h"
#include "util/status_macros.h"

namespace poniente {

absl::Status Schedule::CheckStretches(const Schedule& planned,
                                      uint64_t next_step) const {
  for (size_t i = 0;; ++i) {
    const auto in_past = [&](const Schedule& schedule) {
      return i < schedule.stretches().size() &&
             schedule.stretches()[i].first_step < next_step;
    };
    if (!in_past(*this) && !in_past(planned)) return absl::OkStatus();
    if (in_past(*this) && in_past(planned) &&
        stretches()[i] == planned.stretches()[i]) {
      continue;
    }
    const Schedule& named = in_past(*this) ? *this : planned;
    const Stretch& stretch = named.stretches()[i];
    return absl::FailedPreconditionError(absl::StrCat(
        in_past(*this) ? "batch_size " : "without the change to batch_size ",
        stretch.batch_size, " and seq_len ", stretch.seq_len, " from ",
        named.state_->stretch_starts[i],
        " on, steps would differ that have been served; it may change from "
        "step ",
        next_step, " on"));
  }
}

absl::Status Schedule::CheckContinues(const Schedule& planned,
                                      uint64_t next_step) const {
  if (next_step == 0) return absl::OkStatus();
  if (!planned.Has(next_step - 1)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the planned run has no step ", next_step - 1,
        planned.steps() > 0
            ? absl::StrCat(", it ends after ", planned.steps(), " steps")
            : std::string(", whose samples do not lie below 2^62"),
        "; give the schedule with which steps before ", next_step,
        " were served"));
  }
  if (!Has(next_step - 1)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the run would end after ", steps(), " steps, but ",
                     next_step, " have been served"));
  }
  PONIENTE_RETURN_IF_ERROR(CheckWholeRun(planned));
  PONIENTE_RETURN_IF_ERROR(CheckStretches(planned, next_step));
  return CheckShares(planned, next_step);
}

absl::Status Schedule::CheckWholeRun(const Schedule& planned) const {
  if ((mixture() == nullptr) != (planned.mixture() == nullptr)) {
    return absl::FailedPreconditionError(absl::StrCat(
        mixture() == nullptr ? "this schedule was not told of components, but "
                               "the planned one was"
                             : "the planned schedule was not told of "
                               "components, but this one was",
        ": shares cannot be compared; state components in both, or in none"));
  }
  const uint64_t seed = state_->mixture_options.seed.value_or(0);
  const uint64_t planned_seed =
      planned.state_->mixture_options.seed.value_or(0);
  if (seed != planned_seed) {
    return absl::FailedPreconditionError(absl::StrCat(
        "seed ", seed, " of the mixture differs from ", planned_seed,
        ", with which the run began; state mixture.seed = ", planned_seed));
  }
  if (state_->sample_overlap != planned.state_->sample_overlap) {
    return absl::FailedPreconditionError(absl::StrCat(
        "sample_overlap ", state_->sample_overlap, " differs from ",
        planned.state_->sample_overlap, ", with which the run began"));
  }
  if (max_seq_len() != planned.max_seq_len() ||
      state_->trim != planned.state_->trim) {
    return absl::FailedPreconditionError(absl::StrCat(
        "max_seq_len ", max_seq_len(), state_->trim ? " (trimmed)" : "",
        " differs from ", planned.max_seq_len(),
        planned.state_->trim ? " (trimmed)" : "",
        ", with which the run began; state max_seq_len = ",
        planned.max_seq_len()));
  }
  return absl::OkStatus();
}

absl::Status Schedule::CheckShares(const Schedule& planned,
                                   uint64_t next_step) const {
  if (mixture() == nullptr) return absl::OkStatus();
  const StepPlan last = planned.At(next_step - 1);
  const uint64_t served = last.first_sample + last.batch_size;
  const auto hash = [&](const Schedule& schedule) {
    return schedule.mixture()->PrefixHash(
        schedule.state_->mixture_options.seed.value_or(0), served);
  };
  if (hash(*this) == hash(planned)) {
    return absl::OkStatus();
  }
  const uint64_t free_sample = planned.mixture()->EarliestStart(served);
  uint64_t earliest = next_step;
  while (Has(earliest) && FirstSample(earliest) < free_sample) ++earliest;
  return absl::FailedPreconditionError(absl::StrCat(
      "weights, stages, block_size or group_items would change samples before ",
      free_sample, ", which steps before ", next_step,
      " have served or begun a block of; ",
      Has(earliest)
          ? absl::StrCat("a stage may begin at step ", earliest,
                         " at the earliest, and what lies before must stay as "
                         "it was")
          : std::string("no step is left in which a stage could begin")));
}

}  // namespace poniente
