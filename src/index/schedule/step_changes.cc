// SPDX-License-Identifier: Apache-2.0
#include "index/schedule/step_changes.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "index/mixture/mixture_stages.h"
#include "util/status_macros.h"

namespace poniente {

std::string_view StepChangeName(StepChange::Kind kind) {
  switch (kind) {
    case StepChange::Kind::kStage:
      return "stage";
    case StepChange::Kind::kBatchSize:
      return "batch_size";
    case StepChange::Kind::kSeqLen:
      return "seq_len";
    case StepChange::Kind::kWeights:
      return "weights";
    case StepChange::Kind::kRampStart:
      return "ramp";
    case StepChange::Kind::kRampEnd:
      return "ramp_end";
    case StepChange::Kind::kThresholds:
      return "thresholds";
    case StepChange::Kind::kDecision:
      return "decision";
  }
  return "";
}

std::string ToString(const StepChange& change) {
  const bool is_named = !change.stage.empty();
  const std::string stage =
      is_named ? absl::StrCat("stage '", change.stage, "'") : "a stage";
  std::string text;
  switch (change.kind) {
    case StepChange::Kind::kStage:
      text = absl::StrCat(stage, " begins");
      break;
    case StepChange::Kind::kBatchSize:
    case StepChange::Kind::kSeqLen:
      text =
          absl::StrCat(internal::Absl(StepChangeName(change.kind)), " changes");
      break;
    case StepChange::Kind::kWeights:
      text = absl::StrCat("the weights of ", stage, " apply");
      break;
    case StepChange::Kind::kRampStart:
      text = absl::StrCat("the ramp of ", stage, " begins");
      break;
    case StepChange::Kind::kRampEnd:
      text = absl::StrCat("the ramp of ", stage, " ends");
      break;
    case StepChange::Kind::kThresholds:
      text = absl::StrCat("the thresholds of ", stage, " apply");
      break;
    case StepChange::Kind::kDecision:
      text = is_named ? absl::StrCat("a decision holds: ", change.stage)
                      : std::string("a decision holds");
      break;
  }
  if (change.mixture.empty()) return text;
  return absl::StrCat(change.mixture, ": ", text);
}

namespace internal {
namespace {

using ChangeKind = StepChange::Kind;

auto KeyOf(const PlannedChange& planned) {
  return std::tuple(planned.step, std::string_view(planned.change.mixture),
                    planned.change.kind,
                    std::string_view(planned.change.stage));
}

void AppendSizeChanges(const Schedule& schedule,
                       std::vector<PlannedChange>* changes) {
  const auto stretches = schedule.stretches();
  for (size_t i = 1; i < stretches.size(); ++i) {
    const uint64_t step = stretches[i].first_step;
    if (stretches[i].batch_size != stretches[i - 1].batch_size) {
      changes->push_back({step, {.kind = ChangeKind::kBatchSize}});
    }
    if (stretches[i].seq_len != stretches[i - 1].seq_len) {
      changes->push_back({step, {.kind = ChangeKind::kSeqLen}});
    }
  }
}

// The first step of the run that begins at or after its sample `sample`.
std::optional<uint64_t> StepFromSample(const Schedule& schedule,
                                       uint64_t sample) {
  if (sample == 0) return 0;
  if (schedule.steps() > 0 && sample > schedule.samples()) return std::nullopt;
  const uint64_t step = schedule.StepOf(sample - 1) + 1;
  if (!schedule.Has(step)) return std::nullopt;
  return step;
}

}  // namespace

void AppendShareChanges(const MixtureOptions& options,
                        const std::string& mixture, const StepFrom& step_from,
                        std::vector<PlannedChange>* changes) {
  const auto add = [&](ChangeKind kind, const MixtureStage& stage,
                       uint64_t sample) {
    if (const std::optional<uint64_t> step = step_from(sample)) {
      changes->push_back(
          {*step, {kind, mixture, stage.name}, mixture.empty() ? 0 : sample});
    }
  };
  const std::vector<MixtureStage>& stages = options.stages;
  for (size_t s = 0; s < stages.size(); ++s) {
    const MixtureStage& stage = stages[s];
    const std::optional<uint64_t> end = RampEnd(stage, options.block_size);
    add(end ? ChangeKind::kRampStart : ChangeKind::kWeights, stage,
        stage.start);
    const bool is_cut =
        end && s + 1 < stages.size() && stages[s + 1].start <= *end;
    if (end && !is_cut) add(ChangeKind::kRampEnd, stage, *end);
  }
}

std::vector<PlannedChange> ChangesOf(const Schedule& schedule,
                                     const MixtureOptions& options) {
  std::vector<PlannedChange> changes;
  for (const PlannedStage& stage : schedule.stages()) {
    changes.push_back(
        {stage.start_step, {.kind = ChangeKind::kStage, .stage = stage.name}});
  }
  AppendSizeChanges(schedule, &changes);
  AppendShareChanges(
      options, "",
      [&](uint64_t sample) { return StepFromSample(schedule, sample); },
      &changes);
  return SortedChanges(schedule, std::move(changes));
}

std::vector<PlannedChange> ChangesOf(
    const Schedule& schedule, std::span<const MixtureDecision> decisions) {
  std::vector<PlannedChange> changes;
  for (const MixtureDecision& decision : decisions) {
    if (const auto step = StepFromSample(schedule, decision.start)) {
      changes.push_back({*step, {ChangeKind::kDecision, "", decision.label}});
    }
  }
  return changes;
}

std::optional<uint64_t> StepFromItem(
    const Schedule& schedule,
    const std::function<uint64_t(uint64_t sample)>& before, uint64_t item) {
  const auto is_reached = [&](uint64_t step) {
    return before(schedule.FirstSample(step)) >= item;
  };
  uint64_t low = 0;
  uint64_t high = schedule.steps();
  if (high == 0) {
    for (high = 1; schedule.Has(high) && !is_reached(high); high *= 2) {
      if (high > UINT64_MAX / 2) return std::nullopt;
    }
  }
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (!schedule.Has(middle) || is_reached(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  if (!schedule.Has(low)) return std::nullopt;
  return low;
}

void EraseRampEnds(std::span<const PlannedChange> decisions,
                   std::vector<PlannedChange>* changes) {
  uint64_t ramp_start = 0;
  std::erase_if(*changes, [&](const PlannedChange& planned) {
    if (!planned.change.mixture.empty()) return false;
    if (planned.change.kind == ChangeKind::kRampStart) {
      ramp_start = planned.step;
    }
    if (planned.change.kind != ChangeKind::kRampEnd) return false;
    const auto first = std::find_if(decisions.begin(), decisions.end(),
                                    [&](const PlannedChange& decision) {
                                      return decision.step >= ramp_start;
                                    });
    return first != decisions.end() && first->step < planned.step;
  });
}

std::vector<PlannedChange> SortedChanges(const Schedule& schedule,
                                         std::vector<PlannedChange> changes) {
  std::erase_if(changes, [&](const PlannedChange& planned) {
    return planned.step == 0 || !schedule.Has(planned.step);
  });
  std::sort(changes.begin(), changes.end(),
            [](const PlannedChange& a, const PlannedChange& b) {
              return KeyOf(a) < KeyOf(b);
            });
  const auto is_same = [](const PlannedChange& a, const PlannedChange& b) {
    return KeyOf(a) == KeyOf(b);
  };
  changes.erase(std::unique(changes.begin(), changes.end(), is_same),
                changes.end());
  return changes;
}

}  // namespace internal
}  // namespace poniente
