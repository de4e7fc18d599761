// SPDX-License-Identifier: Apache-2.0
#include "loader/state/run_state.h"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dataset/node_answers.h"
#include "index/keyed_hash.h"
#include "index/max_samples.h"
#include "poniente/version.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Returns the number of samples in the steps of the run before `step`.
uint64_t SamplesBefore(const Schedule& schedule, uint64_t step) {
  if (step == 0) return 0;
  if (!schedule.Has(step - 1)) {
    return schedule.steps() > 0 ? schedule.samples() : kMaxSamples;
  }
  const StepPlan last = schedule.At(step - 1);
  return last.first_sample + last.batch_size;
}

void AddBatches(const Schedule& schedule, RunState* state) {
  std::vector<PastBatches> all;
  for (const Stretch& stretch : schedule.stretches()) {
    if (stretch.first_step >= state->step) break;
    all.push_back({stretch.first_step, stretch.batch_size, stretch.seq_len});
  }
  const size_t earlier =
      all.size() - std::min(all.size(), RunState::kMaxBatches);
  KeyHash hash(0);
  for (size_t i = 0; i < earlier; ++i) {
    hash.Add(all[i].first_step).Add(all[i].batch_size).Add(all[i].seq_len);
  }
  state->earlier_batches = earlier;
  if (earlier > 0) state->earlier_hash = hash.key();
  state->batches.assign(all.begin() + static_cast<ptrdiff_t>(earlier),
                        all.end());
}

bool TrimsBefore(const Schedule& schedule, uint64_t step) {
  if (!schedule.mixture_options().trim) return false;
  return std::any_of(schedule.stretches().begin(), schedule.stretches().end(),
                     [&](const Stretch& stretch) {
                       return stretch.first_step < step &&
                              stretch.seq_len != schedule.max_seq_len();
                     });
}

// Returns the state without the tree.
RunState PlaceAt(const Schedule& schedule, uint64_t step,
                 const Journal& journal) {
  RunState state;
  state.step = step;
  state.sample = SamplesBefore(schedule, step);
  state.changes = journal.DecidedUpTo(step);
  if (state.changes > 0) state.changes_hash = journal.Hash(state.changes);
  state.order_version = kOrderVersion;
  state.max_seq_len = schedule.max_seq_len();
  state.is_trimmed = TrimsBefore(schedule, step);
  AddBatches(schedule, &state);
  return state;
}

}  // namespace

RunState RunStateAt(const DatasetNode& root, const Schedule& schedule,
                    uint64_t step, const Journal& journal) {
  RunState state = PlaceAt(schedule, step, journal);
  state.tree = PastOf(root, state.sample);
  if (state.tree.weights) state.shares = SharesAt(root, state.sample - 1);
  return state;
}

size_t GroupOf(std::string_view path) {
  return Derive(0, Tag("source"), path) % RunState::kGroups;
}

RunState::Groups GroupsOf(const std::vector<PastSource>& sources) {
  std::array<uint64_t, RunState::kGroups> hashes = {};
  for (const PastSource& source : sources) {
    uint64_t& hash = hashes[GroupOf(source.path)];
    hash =
        Derive(hash, Tag("source"), std::string_view(source.path),
               source.fingerprint.has_value(), source.fingerprint.value_or(0));
  }
  RunState::Groups groups;
  std::transform(hashes.begin(), hashes.end(), groups.begin(),
                 [](uint64_t hash) { return static_cast<uint32_t>(hash); });
  return groups;
}

absl::StatusOr<std::string> StateText(const DatasetNode& root,
                                      const Schedule& schedule, uint64_t step,
                                      const Journal& journal) try {
  return PrintRunState(RunStateAt(root, schedule, step, journal));
} catch (...) {
  return ErrorOfNode(root, std::current_exception());
}

std::string StateTextAnyway(const DatasetNode& root, const Schedule& schedule,
                            uint64_t step, const Journal& journal,
                            std::string* warning) {
  absl::StatusOr<std::string> text = StateText(root, schedule, step, journal);
  if (text.ok()) return *std::move(text);
  if (!absl::IsInternal(text.status())) throw std::bad_alloc();
  *warning = absl::StrCat("the state of step ", step,
                          " does not say what has been read before it, so "
                          "Resume() will not compare that: ",
                          text.status().message());
  RunState state = PlaceAt(schedule, step, journal);
  try {
    state.tree.seed = SeedOfPast(root, state.sample);
  } catch (...) {
    // Resume() then accepts the state only if the run has no seed.
  }
  return PrintRunState(std::move(state));
}

absl::StatusOr<uint64_t> StepOfState(std::string_view text,
                                     const DatasetNode& root,
                                     const Schedule& schedule,
                                     const Journal& journal) try {
  PONIENTE_ASSIGN_OR_RETURN(const RunState saved, ParseRunState(text));
  PONIENTE_RETURN_IF_ERROR(CheckGoesOn(saved, root, schedule, journal));
  return saved.step;
} catch (...) {
  return ErrorOfNode(root, std::current_exception());
}

absl::Status CheckHasState(const DatasetNode& root, const Schedule& schedule,
                           LastBatch last_batch, uint64_t step) try {
  const uint64_t steps = schedule.steps();
  bool is_known =
      steps > 0 ? step <= steps : step == 0 || schedule.Has(step - 1);
  const LengthState length = root.length_now();
  if (is_known && step > 0 && length.is_final && !length.is_endless) {
    // Whether the step before it has samples.
    const StepPlan last = schedule.At(step - 1);
    const uint64_t wanted =
        last_batch == LastBatch::kDrop ? last.batch_size : 1;
    is_known = length.readable >= wanted &&
               last.first_sample <= length.readable - wanted;
  }
  if (is_known) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat(
      "there is no state at step ", step, ": the run ends before it",
      steps > 0 && step > steps ? absl::StrCat(", after ", steps, " steps")
                                : ""));
} catch (...) {
  return ErrorOfNode(root, std::current_exception());
}

}  // namespace poniente::internal
