// SPDX-License-Identifier: Apache-2.0
#include "index/schedule/stage_marks.h"

#include "absl/strings/str_cat.h"
#include "index/schedule/place_text.h"

namespace poniente {

std::string StageLabel(const PlannedStage& stage) {
  if (!stage.name.empty()) return stage.name;
  return stage.stated ? absl::StrCat("stages[", *stage.stated, "]") : "start";
}

namespace internal {

std::string StageLabel(size_t stage, const std::string& name) {
  return name.empty() ? absl::StrCat("stage ", stage)
                      : absl::StrCat("stage ", stage, " ('", name, "')");
}

std::vector<StageMark> MarksOf(const ScheduleOptions& options) {
  std::vector<StageMark> marks;
  for (size_t s = 0; s < options.stages.size(); ++s) {
    const ScheduleStage& stage = options.stages[s];
    StageMark& mark = marks.emplace_back();
    mark.at = stage.start;
    if (stage.is_ramp_centred) mark.centred_ramp = stage.ramp;
    mark.batch_size = stage.batch_size;
    mark.seq_len = stage.seq_len;
    mark.label = StageLabel(s, stage.name);
  }
  for (size_t i = 0; i < options.batch_sizes.size(); ++i) {
    const BatchSizeStage& change = options.batch_sizes[i];
    StageMark& mark = marks.emplace_back();
    mark.at = change.start;
    mark.batch_size = change.batch_size;
    mark.label = absl::StrCat("batch_sizes[", i, "] (batch_size ",
                              change.batch_size, ")");
  }
  for (size_t i = 0; i < options.seq_lens.size(); ++i) {
    const SeqLenStage& change = options.seq_lens[i];
    StageMark& mark = marks.emplace_back();
    mark.at = change.start;
    mark.seq_len = change.seq_len;
    mark.label =
        absl::StrCat("seq_lens[", i, "] (seq_len ", change.seq_len, ")");
  }
  return marks;
}

std::string StartText(const StageMark& mark, const RunLayout::Start& start) {
  const bool is_count = mark.at.count >= 0 && !mark.centred_ramp;
  const std::string step = absl::StrCat("step ", start.step);
  const std::string sample = absl::StrCat("sample ", start.sample);
  std::string resolved = absl::StrCat(step, ", ", sample);
  if (is_count && mark.at.unit == RunPoint::Unit::kSteps) resolved = sample;
  if (is_count && mark.at.unit == RunPoint::Unit::kSamples) resolved = step;
  return absl::StrCat(StatedStart(mark), " (", resolved, ")");
}

std::vector<StageTexts> StageTextsOf(const ScheduleOptions& options,
                                     const std::vector<StageMark>& marks,
                                     const RunLayout& layout,
                                     std::span<const PlannedStage> planned) {
  std::vector<StageTexts> texts(planned.size());
  const size_t implied = planned.size() - options.stages.size();
  for (size_t s = 0; s < options.stages.size(); ++s) {
    const uint64_t samples = planned[implied + s].ramp_samples;
    StageTexts& text = texts[implied + s];
    text.label = absl::StrCat(marks[s].label, " at ",
                              StartText(marks[s], layout.starts()[s]));
    if (samples == 0) continue;
    const RunPoint& ramp = *options.stages[s].ramp;
    text.ramp = AmountText(ramp);
    if (ramp.unit == RunPoint::Unit::kSamples) continue;
    absl::StrAppend(&text.ramp, " (", samples, " samples)");
  }
  return texts;
}

std::vector<std::string> StretchStartTexts(
    const RunLayout& layout, const std::vector<StageMark>& marks) {
  std::vector<std::string> texts;
  for (const Stretch& stretch : layout.stretches()) {
    std::string& text = texts.emplace_back("step 0 (sample 0)");
    for (size_t m = 0; m < marks.size(); ++m) {
      const bool is_change = marks[m].batch_size || marks[m].seq_len;
      if (!is_change || layout.starts()[m].step != stretch.first_step) continue;
      text = StartText(marks[m], layout.starts()[m]);
      break;
    }
  }
  return texts;
}

}  // namespace internal
}  // namespace poniente
