// SPDX-License-Identifier: Apache-2.0
#include "config/tree/schedule_builder.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "index/int128.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

ScheduleStage ToStage(const RunStage& spec) {
  ScheduleStage stage;
  stage.start = spec.start;
  stage.name = spec.name;
  stage.lr_scale = spec.lr_scale;
  stage.lr_scale_end = spec.lr_scale_end;
  stage.batch_size = spec.batch_size;
  stage.seq_len = spec.seq_len;
  stage.weights = spec.weights;
  stage.temperature = spec.temperature;
  stage.ramp = spec.ramp;
  stage.is_ramp_centred = spec.is_ramp_centred;
  stage.ramp_blocks = spec.ramp_blocks;
  stage.numbers = spec.numbers;
  stage.ramps_temperature = spec.ramps_temperature;
  return stage;
}

absl::StatusOr<uint64_t> SampleAtToken(const Schedule& schedule,
                                       uint64_t token) {
  const auto stretches = schedule.stretches();
  Uint128 before = 0;
  for (size_t i = 0; i < stretches.size(); ++i) {
    const Stretch& stretch = stretches[i];
    const Uint128 sample =
        stretch.first_sample +
        (token - before + stretch.seq_len - 1) / stretch.seq_len;
    const bool is_last = i + 1 == stretches.size();
    if (is_last || sample < stretches[i + 1].first_sample) {
      return static_cast<uint64_t>(sample);
    }
    before += Uint128{stretches[i + 1].first_sample - stretch.first_sample} *
              stretch.seq_len;
    if (before >= token) return stretches[i + 1].first_sample;
  }
  return 0;
}

// The number in the beginning of the message, "stage 2 ..." with "stage ".
std::optional<size_t> NumberAfter(absl::string_view word,
                                  absl::string_view rest) {
  size_t number = 0;
  if (!absl::ConsumePrefix(&rest, word) ||
      !absl::SimpleAtoi(rest.substr(0, rest.find_first_not_of("0123456789")),
                        &number)) {
    return std::nullopt;
  }
  return number;
}

const SourceLocation& LocationOfStage(absl::string_view error,
                                      const std::vector<RunStage>& stages,
                                      const SourceLocation& otherwise) {
  const std::optional<size_t> stage = NumberAfter("stage ", error);
  if (!stage.has_value() || *stage >= stages.size()) return otherwise;
  return stages[*stage].location;
}

// Where the part of the schedule stands that the error is about.
const SourceLocation& LocationOfError(absl::string_view error, const Run& run) {
  const auto batch_size = NumberAfter("batch_sizes[", error);
  if (batch_size.has_value() &&
      *batch_size < run.batch_sizes_locations.size()) {
    return run.batch_sizes_locations[*batch_size];
  }
  const auto seq_len = NumberAfter("seq_lens[", error);
  if (seq_len.has_value() && *seq_len < run.seq_lens_locations.size()) {
    return run.seq_lens_locations[*seq_len];
  }
  return LocationOfStage(error, run.stages, run.location);
}

absl::StatusOr<Schedule> Located(absl::StatusOr<Schedule> schedule,
                                 const Run& run) {
  if (schedule.ok()) return schedule;
  return Prepend(schedule.status(),
                 ToString(LocationOfError(schedule.status().message(), run)));
}

// Without the mixture.
ScheduleOptions OptionsOf(const Run& run) {
  ScheduleOptions options;
  options.steps = run.steps;
  options.tokens = run.total_tokens;
  options.batch_size = run.batch_size;
  options.seq_len = run.seq_len;
  options.max_seq_len = run.max_seq_len;
  options.trim = run.trim;
  options.sample_overlap = run.sample_overlap;
  for (const RunStage& stage : run.stages) {
    options.stages.push_back(ToStage(stage));
  }
  options.batch_sizes = run.batch_sizes;
  options.seq_lens = run.seq_lens;
  return options;
}

}  // namespace

MixtureOptions MixtureOptionsOf(const NodeMixture& mixture) {
  MixtureOptions options;
  options.block_size = mixture.block_size;
  options.weight_rule = mixture.weight_rule;
  options.temperature = mixture.temperature;
  options.stop_rule = mixture.stop_rule;
  options.group_items = mixture.group_items;
  return options;
}

absl::Status AtStages(const absl::Status& error,
                      const std::vector<RunStage>& stages,
                      const SourceLocation& otherwise) {
  std::vector<std::string> lines;
  for (const absl::string_view line : absl::StrSplit(error.message(), '\n')) {
    const bool goes_on = absl::StartsWith(line, "  ");  // "  and 4 more"
    lines.push_back(goes_on ? std::string(line)
                            : absl::StrCat(ToString(LocationOfStage(
                                               line, stages, otherwise)),
                                           ": ", line));
  }
  return absl::Status(error.code(), absl::StrJoin(lines, "\n"));
}

absl::StatusOr<Schedule> BuildStretches(const Run& run) {
  return Located(Schedule::Create(OptionsOf(run)), run);
}

absl::StatusOr<Schedule> BuildSchedule(
    const Run& run, const std::vector<std::optional<uint64_t>>& items) {
  ScheduleOptions options = OptionsOf(run);
  const Node& root = Used(run.data);
  if (root.kind == NodeKind::kMixture) {
    options.mixture = MixtureOptionsOf(root.mixture);
    options.mixture.seed = run.seed;
    for (size_t i = 0; i < root.children.size(); ++i) {
      options.components.push_back({root.children[i].name,
                                    WeightOf(root.children[i]),
                                    items.empty() ? std::nullopt : items[i]});
    }
  }
  absl::StatusOr<Schedule> made =
      Located(Schedule::Create(std::move(options)), run);
  if (!made.ok()) return made;
  for (size_t i = 0; i < run.stages.size(); ++i) {
    const RunStage& stage = run.stages[i];
    if (stage.thresholds.empty() ||
        PlannedStageOf(*made, run, i).start_sample > 0) {
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrCat(ToString(stage.location),
                     " starts the run: its thresholds are those of the "
                     "components themselves, state them there"));
  }
  return made;
}

const PlannedStage& PlannedStageOf(const Schedule& schedule, const Run& run,
                                   size_t stage) {
  const auto planned = schedule.stages();
  return planned[planned.size() - run.stages.size() + stage];
}

absl::StatusOr<uint64_t> SampleAt(const Schedule& schedule,
                                  const RunPoint& point) {
  const bool is_step = point.unit == RunPoint::Unit::kSteps;
  const uint64_t all = is_step ? schedule.steps() : schedule.tokens();
  uint64_t count = static_cast<uint64_t>(point.count);
  if (point.count < 0) {
    const uint64_t back = uint64_t{0} - count;
    if (all < back) {
      return absl::OutOfRangeError(absl::StrCat(
          "starts ", back, is_step ? " steps" : " tokens",
          " before the end of the run, which ",
          all == 0 ? "has no end" : absl::StrCat("has only ", all)));
    }
    count = all - back;
  }
  if (all != 0 && count >= all) {
    return absl::OutOfRangeError(
        absl::StrCat("starts at ", is_step ? "step " : "token ", count,
                     ", but the run has ", all));
  }
  if (is_step && !schedule.Has(count)) {
    return absl::OutOfRangeError(absl::StrCat(
        "starts at step ", count, ", which is after the last of 2^62 samples"));
  }
  return is_step ? schedule.FirstSample(count) : SampleAtToken(schedule, count);
}

}  // namespace poniente::internal
