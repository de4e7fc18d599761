// SPDX-License-Identifier: Apache-2.0
#include "config/write/stage_writer.h"

#include <cstdint>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "config/parse/run_points.h"
#include "config/tree/nested_places.h"
#include "config/tree/schedule_builder.h"
#include "config/write/toml_text.h"

namespace poniente::internal {
namespace {

void AddPoint(const PointKeys& names, const RunPoint& point, Keys* keys) {
  const std::string_view key = KeyOf(point, names);
  keys->Add(key,
            IsShare(point) ? Float(point.share) : absl::StrCat(point.count));
}

void AddShares(const RunStage& stage, Keys* keys) {
  if (!stage.name.empty()) keys->AddText("name", stage.name);
  if (!stage.weights.empty()) keys->Add("weights", Numbers(stage.weights));
  if (stage.weights_sum) keys->Add("weights_sum", Float(*stage.weights_sum));
  if (!stage.thresholds.empty()) {
    keys->Add("thresholds", Thresholds(stage.thresholds));
  }
  if (!stage.fim_rates.empty()) {
    keys->Add("fim_rates", Numbers(stage.fim_rates));
  }
  if (stage.temperature) keys->Add("temperature", Float(*stage.temperature));
}

// Everything but the start, the ramp and what AddShares() adds.
void AddRates(const RunStage& stage, bool is_resolved, Keys* keys) {
  if (is_resolved || stage.lr_scale != 1) {
    keys->Add("lr_scale", Float(stage.lr_scale));
  }
  if (stage.lr_scale_end) {
    keys->Add("lr_scale_end", Float(*stage.lr_scale_end));
  }
  if (!stage.numbers.empty()) keys->Add("numbers", Numbers(stage.numbers));
}

Keys StatedStage(const RunStage& stage) {
  Keys keys;
  // A parser refuses both.
  if (!stage.share || stage.start != RunPoint()) {
    AddPoint(kStart, stage.start, &keys);
  }
  if (stage.share) keys.Add("share", Float(*stage.share));
  AddShares(stage, &keys);
  keys.AddIf("batch_size", stage.batch_size);
  if (stage.seq_len) keys.Add("seq_len", uint64_t{*stage.seq_len});
  if (stage.ramp) AddPoint(kRamp, *stage.ramp, &keys);
  if (stage.is_ramp_centred) keys.Add("ramp_centred", Boolean(true));
  if (stage.ramp_blocks > 0) {
    keys.Add("ramp_blocks", uint64_t{stage.ramp_blocks});
  }
  if (stage.ramps_temperature) keys.Add("ramp_temperature", Boolean(true));
  AddRates(stage, /*is_resolved=*/false, &keys);
  return keys;
}

std::string Table(const std::string& path, const Keys& keys) {
  return absl::StrCat("\n[[", path, "]]\n", keys.Lines());
}

}  // namespace

std::string NestedStage(const std::string& path, const Run& run,
                        const Schedule* schedule, const RunStage& stage) {
  if (schedule != nullptr) {
    // The run was built, so its stages can be resolved.
    const auto resolved = ResolvedNestedStage(run, schedule, stage);
    if (resolved.ok()) return Table(path + ".stages", StatedStage(*resolved));
  }
  return Table(path + ".stages", StatedStage(stage));
}

std::string InlineStage(const RunStage& stage) {
  return StatedStage(stage).Inline();
}

std::string StatedStages(const Run& run) {
  std::string text;
  for (const RunStage& stage : run.stages) {
    text += Table("data.stages", StatedStage(stage));
  }
  for (const BatchSizeStage& change : run.batch_sizes) {
    Keys keys;
    AddPoint(kStart, change.start, &keys);
    keys.Add("batch_size", change.batch_size);
    text += Table("data.batch_sizes", keys);
  }
  for (const SeqLenStage& change : run.seq_lens) {
    Keys keys;
    AddPoint(kStart, change.start, &keys);
    keys.Add("seq_len", uint64_t{change.seq_len});
    text += Table("data.seq_lens", keys);
  }
  return text;
}

std::string ResolvedStages(const Run& run, const Schedule& schedule) {
  std::string text;
  for (size_t i = 0; i < run.stages.size(); ++i) {
    const PlannedStage& planned = PlannedStageOf(schedule, run, i);
    Keys keys;
    if (planned.start_sample == schedule.FirstSample(planned.start_step)) {
      keys.Add("start_step", planned.start_step);
    } else {
      keys.Add("start_sample", planned.start_sample);
    }
    AddShares(run.stages[i], &keys);
    if (planned.ramp_samples > 0) {
      keys.Add("ramp_samples", planned.ramp_samples);
      keys.Add("ramp_blocks", uint64_t{planned.ramp_blocks});
      if (planned.ramps_temperature) {
        keys.Add("ramp_temperature", Boolean(true));
      }
    }
    AddRates(run.stages[i], /*is_resolved=*/true, &keys);
    text += Table("data.stages", keys);
  }
  const auto stretches = schedule.stretches();
  for (size_t i = 1; i < stretches.size(); ++i) {
    Keys start;
    start.Add("start_step", stretches[i].first_step);
    if (stretches[i].batch_size != stretches[i - 1].batch_size) {
      Keys change = start;
      change.Add("batch_size", stretches[i].batch_size);
      text += Table("data.batch_sizes", change);
    }
    if (stretches[i].seq_len != stretches[i - 1].seq_len) {
      Keys change = start;
      change.Add("seq_len", uint64_t{stretches[i].seq_len});
      text += Table("data.seq_lens", change);
    }
  }
  return text;
}

}  // namespace poniente::internal
