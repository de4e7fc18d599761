// SPDX-License-Identifier: Apache-2.0
// How a loader changes its run while it goes on.
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dataset/node_answers.h"
#include "dataset/steering/change_places.h"
#include "dataset/steering/opened_component.h"
#include "index/schedule/step_changes.h"
#include "loader/batch_checks.h"
#include "loader/drop_checks.h"
#include "loader/loader_core.h"
#include "loader/loader_errors.h"
#include "loader/metrics/loader_reports.h"
#include "util/mutex.h"
#include "util/status_macros.h"

namespace poniente {

using internal::MutexLock;

namespace {

uint64_t SamplesBefore(const Schedule& schedule, uint64_t step) {
  return schedule.Has(step) ? schedule.FirstSample(step) : schedule.samples();
}

// The step from which on the entry holds, in a run under it, where it changes
// the root in step `at_root`.
absl::StatusOr<uint64_t> HoldsFrom(const internal::SteeredRun& run,
                                   const JournalEntry& entry,
                                   uint64_t at_root) {
  if (entry.change.path.empty()) return at_root;
  return internal::HoldsFromStep(*run.dataset, run.schedule, entry);
}

// Whether a change takes more than about a millisecond to compute.
bool TakesLong(const RunChange& change) {
  return change.kind == RunChange::Kind::kDrop || !change.added.empty();
}

}  // namespace

// Lets steps go again that are held back while a change takes effect, however
// that ends.
class Loader::Core::HeldBack {
 public:
  explicit HeldBack(Core* core) : core_(core) {}
  HeldBack(const HeldBack&) = delete;
  HeldBack& operator=(const HeldBack&) = delete;
  ~HeldBack() { core_->LetGo(); }

 private:
  Core* const core_;
};

absl::StatusOr<Loader::Core::Place> Loader::Core::EarliestPlace(
    const RunChange& change, const SteerOptions& options) const {
  if (is_closed_) return internal::LoaderClosed();
  const Schedule& schedule = edition_->run.schedule;
  return Place{
      internal::EarliestChange(*edition_->run.dataset, change,
                               SamplesBefore(schedule, FreeStep(options))),
      window_.next()};
}

absl::StatusOr<std::string> Loader::Core::Propose(
    const RunChange& change, const SteerOptions& options) const try {
  MutexLock steering(&steering_mu_);
  RunChange printed;
  PONIENTE_ASSIGN_OR_RETURN(const RunChange* const opened,
                            Opened(change, &printed));
  absl::StatusOr<Place> place;
  {
    MutexLock lock(&mu_);
    place = EarliestPlace(*opened, options);
  }
  if (!place.ok()) return place.status();
  PONIENTE_ASSIGN_OR_RETURN(std::string line, LineAt(*opened, *place));
  PONIENTE_ASSIGN_OR_RETURN(const JournalEntry entry, journal_.Check(line));
  PONIENTE_RETURN_IF_ERROR(Changed(*Current(), entry).status());
  return line;
} catch (...) {
  return internal::ErrorOfNode(*Current()->run.dataset,
                               std::current_exception());
}

absl::StatusOr<const RunChange*> Loader::Core::Opened(
    const RunChange& change, RunChange* printed) const {
  PONIENTE_RETURN_IF_ERROR(internal::CheckIsNotSplit(change, journal_));
  if (change.added.empty()) return &change;
  PONIENTE_RETURN_IF_ERROR(ToText(change).status());
  // What was opened for a change that has not been made may be old.
  opener_.Forget();
  *printed = change;
  for (ComponentText& text : printed->added) {
    // Compares the fingerprint, if one was stated.
    PONIENTE_ASSIGN_OR_RETURN(
        const OpenedComponent opened,
        internal::OpenAdded(change.path, text, opener_.opener()));
    text.fingerprint = opened.part.component.dataset->fingerprint();
  }
  return printed;
}

LoaderOptions Loader::Core::WithLossWeights(const LoaderOptions& options,
                                            const internal::SteeredRun& run) {
  LoaderOptions all = options;
  all.journal = Journal();
  all.loss_weights.insert(run.loss_weights.begin(), run.loss_weights.end());
  return all;
}

absl::StatusOr<std::string> Loader::Core::LineAt(const RunChange& change,
                                                 const Place& place) const {
  const uint64_t last =
      journal_.empty() ? 0 : journal_.sample(journal_.size() - 1);
  return journal_.LineOf(change, std::max(place.sample, last), place.step);
}

absl::StatusOr<std::string> Loader::Core::LineNow(const RunChange& change,
                                                  const SteerOptions& options,
                                                  bool holds_back) {
  absl::StatusOr<Place> place;
  {
    MutexLock lock(&mu_);
    place = EarliestPlace(change, options);
    // Nobody is handed a step of it from here on.
    if (holds_back) {
      held_back_ = FreeStep(options);
      UpdateReadyEvent();
    }
  }
  if (!place.ok()) return place.status();
  return LineAt(change, *place);
}

absl::StatusOr<Loader::Core::ChangedRun> Loader::Core::Changed(
    const Edition& edition, const JournalEntry& entry) const {
  PONIENTE_ASSIGN_OR_RETURN(
      internal::SteeredRun run,
      internal::Steered(edition.run, std::span(&entry, 1), opener_.opener()));
  uint64_t step = internal::StepOrEnd(run.schedule, entry.sample);
  if (!run.schedule.Has(step)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "change ", entry.number, " would hold from sample ", entry.sample,
        " on, but the run ends after ", run.schedule.steps(),
        " steps, within blocks that have been begun; extend the run first"));
  }
  // A run with more steps differs from its former end on.
  if (entry.change.kind == RunChange::Kind::kExtend) {
    step = std::min(step, edition.run.schedule.steps());
  }
  const DatasetTree tree(*run.dataset);
  if (!entry.change.added.empty() || entry.change.masks) {
    PONIENTE_RETURN_IF_ERROR(internal::CheckBatches(
        tree, *run.dataset, run.schedule, WithLossWeights(options_, run)));
    return ChangedRun{std::move(run), step};
  }
  // Of what Create() checks, nothing else can have changed.
  PONIENTE_RETURN_IF_ERROR(
      tree.CheckEpochs(run.schedule.samples(), &run.schedule));
  // A mixture below the root may reach a change of length elsewhere.
  if (run.schedule.stretches().size() > 1) {
    PONIENTE_RETURN_IF_ERROR(
        internal::CheckPackedWindows(tree, *run.dataset, run.schedule));
  }
  return ChangedRun{std::move(run), step};
}

absl::StatusOr<uint64_t> Loader::Core::Steer(std::string_view line) try {
  MutexLock steering(&steering_mu_);
  return SteerBy(line);
} catch (...) {
  return internal::ErrorOfNode(*Current()->run.dataset,
                               std::current_exception());
}

absl::StatusOr<uint64_t> Loader::Core::Steer(const RunChange& change,
                                             const SteerOptions& options) try {
  MutexLock steering(&steering_mu_);
  // What it adds is opened while steps are handed out.
  RunChange printed;
  PONIENTE_ASSIGN_OR_RETURN(const RunChange* const opened,
                            Opened(change, &printed));
  if (TakesLong(change)) {
    // Perhaps it is ready before the first step that it changes is asked for.
    PONIENTE_ASSIGN_OR_RETURN(const std::string line,
                              LineNow(*opened, options, /*holds_back=*/false));
    bool is_late = false;
    auto steered = SteerBy(line, &is_late);
    if (steered.ok()) WarnIfNotKept();
    if (!is_late) return steered;
  }
  const HeldBack held_back(this);
  PONIENTE_ASSIGN_OR_RETURN(const std::string line,
                            LineNow(*opened, options, /*holds_back=*/true));
  auto steered = SteerBy(line);
  if (steered.ok()) WarnIfNotKept();
  return steered;
} catch (...) {
  return internal::ErrorOfNode(*Current()->run.dataset,
                               std::current_exception());
}

void Loader::Core::WarnIfNotKept() {
  if (options_.journal_sink || has_warned_of_journal_) return;
  has_warned_of_journal_ = true;
  // Other ranks have no sink, even if the run keeps a journal.
  internal::EmitLine(
      options_.warning_sink, "warning: ",
      options_.rank != 0
          ? absl::StrCat("rank ", options_.rank, " of ", options_.ranks,
                         " has decided change ", journal_.size(),
                         " by itself: ranks that do not make the same change "
                         "at the same sample serve other samples; let rank 0 "
                         "propose, and steer by its line on all ranks")
          : absl::StrCat(
                "the run keeps no journal, so change ", journal_.size(),
                " is lost with this process, and states that are saved from "
                "now on cannot be resumed: state data.journal, or set "
                "LoaderOptions::journal_sink"));
}

absl::Status Loader::Core::HoldBack(uint64_t step, const JournalEntry& entry,
                                    bool* is_late) {
  MutexLock lock(&mu_);
  if (is_closed_) return internal::LoaderClosed();
  const uint64_t free = FreeStep();
  if (step < free) {
    if (is_late != nullptr) *is_late = true;
    return absl::FailedPreconditionError(absl::StrCat(
        "change ", entry.number, " holds from sample ", entry.sample,
        " on, which is in step ", step, ", but rank ", options_.rank,
        " has handed out the steps before ", free,
        "; hand changes to all ranks between the same two steps, or go back "
        "to a checkpoint of step ",
        step, " or before"));
  }
  held_back_ = step;
  UpdateReadyEvent();
  return absl::OkStatus();
}

void Loader::Core::LetGo() {
  {
    MutexLock lock(&mu_);
    held_back_.reset();
    UpdateReadyEvent();
  }
  TryToNotify();
}

void Loader::Core::Adopt(EditionPtr edition, uint64_t step) {
  EditionPtr oldest;  // released without the lock
  MutexLock lock(&mu_);
  oldest = std::exchange(edition_before_, std::move(edition_));
  edition_ = std::move(edition);
  window_.Change(step);
  counters_.Dropped(NumReady(step));
  ready_.erase(ready_.lower_bound(step), ready_.end());
  PostCancelStale();
}

void Loader::Core::Settle(const EditionPtr& edition) {
  if (!edition->run.dataset->length_now().is_final) return;
  // It is the same run, so references to that of `edition` stay valid as long.
  auto settled =
      std::make_shared<const Edition>(edition->run, options_, slots_, edition);
  readers_.Add(settled->assembler.tree());
  EditionPtr unsettled;  // released without the lock
  MutexLock lock(&mu_);
  if (edition_ != edition) return;  // another thread, or a change, was sooner
  unsettled = std::exchange(edition_, std::move(settled));
}

absl::StatusOr<uint64_t> Loader::Core::SteerBy(std::string_view line,
                                               bool* is_late) {
  PONIENTE_ASSIGN_OR_RETURN(const JournalEntry entry, journal_.Check(line));
  const EditionPtr before = Current();
  // A line that has come before, from this process or another.
  if (entry.number <= journal_.size()) {
    return HoldsFrom(before->run, entry,
                     internal::StepOrEnd(before->run.schedule, entry.sample));
  }
  PONIENTE_ASSIGN_OR_RETURN(ChangedRun changed, Changed(*before, entry));
  PONIENTE_ASSIGN_OR_RETURN(const uint64_t holds_from,
                            HoldsFrom(changed.run, entry, changed.step));
  const auto when_made = std::exchange(changed.run.when_made, {});
  auto edition =
      std::make_shared<const Edition>(std::move(changed.run), options_, slots_);
  // It may read, so while steps are still handed out.
  const std::string nothing =
      internal::WarningOfNothing(entry, edition->assembler.tree());
  const HeldBack held_back(this);
  PONIENTE_RETURN_IF_ERROR(HoldBack(changed.step, entry, is_late));
  // Nothing holds that a process which is killed now would not find again.
  if (options_.journal_sink) {
    PONIENTE_RETURN_IF_ERROR(options_.journal_sink(line));
  }
  journal_.AppendChecked(line, entry);
  const bool adds = !entry.change.added.empty();
  if (adds) {
    counters_.AddSources(edition->assembler.tree().leaves());
    readers_.Add(edition->assembler.tree());
    opener_.Forget();
  }
  Adopt(edition, changed.step);
  // The change has been made, whatever these throw.
  std::string others;
  try {
    for (const auto& made : when_made) made();
    others =
        internal::WarningOfOthers(entry, journal_, edition->assembler.tree());
  } catch (...) {
    others = absl::StrCat(
        "change ", entry.number, " was made, but then a function failed: ",
        internal::StatusFromException(std::current_exception()).message());
  }
  for (const std::string_view warning : {others, nothing}) {
    if (warning.empty()) continue;
    internal::EmitLine(options_.warning_sink, "warning: ", warning);
  }
  if (adds) WarnOfFallbacks(before->assembler.tree().leaves().size());
  return holds_from;
}

Journal Loader::Core::journal() const {
  MutexLock steering(&steering_mu_);
  return journal_;
}

std::optional<uint64_t> Loader::Core::last_decision() const {
  MutexLock steering(&steering_mu_);
  return journal_.last_step();
}

}  // namespace poniente
