// SPDX-License-Identifier: Apache-2.0
// What differs between the schedules of two runs, in how batches are made, and
// in how stores are read.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analysis/diff/run_diff.h"
#include "index/schedule/stage_marks.h"
#include "poniente/batch_tensors.h"

namespace poniente::internal {
namespace {

DiffValue StepsOf(const TracedRun& run) {
  if (const auto steps = run.steps()) return *steps;
  return std::string("endless");
}

// What a step has beside its samples.
struct StepLabels {
  StepLabels(const Schedule& schedule, uint64_t step) {
    const StepPlan plan = schedule.At(step);
    lr_scale = plan.lr_scale;
    stated = schedule.stages()[plan.stage];
    stage = plan.stage_name;
    numbers = plan.numbers;
  }

  double lr_scale = 1;
  PlannedStage stated;
  std::string stage;
  std::map<std::string, double> numbers;
};

class ScheduleDiff {
 public:
  ScheduleDiff(const TracedRun& a, const TracedRun& b,
               const ComparedSamples& compared,
               std::vector<RunDifference>* differences)
      : a_(a.schedule()),
        b_(b.schedule()),
        compared_(compared),
        differences_(differences) {}

  void CompareSizes() {
    bool is_batch_new = true, is_length_new = true;
    for (const uint64_t step : StretchStarts()) {
      if (step >= compared_.steps) break;
      const StepPlan a = a_.At(step);
      const StepPlan b = b_.At(step);
      if (is_batch_new && a.batch_size != b.batch_size) {
        is_batch_new = false;
        Add("batch_size", a.batch_size, b.batch_size, step, true);
      }
      if (is_length_new && a.seq_len != b.seq_len) {
        is_length_new = false;
        Add("seq_len", uint64_t{a.seq_len}, uint64_t{b.seq_len}, step, true);
      }
    }
  }

  void CompareCuts() {
    const auto words = [](const Schedule& schedule) {
      const MixtureOptions options = schedule.mixture_options();
      return absl::StrCat(schedule.max_seq_len(),
                          options.trim ? " with trim" : "",
                          options.sample_overlap > 0 ? " with overlap" : "");
    };
    const std::string a = words(a_);
    const std::string b = words(b_);
    // From the first difference on: before it they have not mattered.
    if (a != b) Add("max_seq_len", a, b, FirstStep(), true);
    const uint64_t group_a = a_.mixture_options().group_items;
    const uint64_t group_b = b_.mixture_options().group_items;
    if (group_a != group_b) {
      Add("group_items", group_a, group_b, FirstStep(), true);
    }
  }

  // Stages of both runs that begin at another step.
  void CompareStarts() {
    const std::map<std::string, PlannedStage> others = StagesByName(b_);
    for (const auto& [name, in_a] : StagesByName(a_)) {
      const auto found = others.find(name);
      if (found == others.end()) continue;
      const PlannedStage& in_b = found->second;
      if (in_a.start_step == in_b.start_step) continue;
      const bool is_a_first = in_a.start_step < in_b.start_step;
      Add(absl::StrCat("start_step of stage '", name, "'"), in_a.start_step,
          in_b.start_step,
          is_a_first ? StepFromCut(a_, in_a) : StepFromCut(b_, in_b),
          compared_.first && (ChangesShares(in_a) || ChangesShares(in_b)));
    }
  }

  // Labels change where stages begin, but for lr_scale, which may be a line:
  // two lines are the same if they are so in two steps.
  void CompareLabels() {
    const std::set<uint64_t> starts = StageStarts();
    for (auto start = starts.begin(); start != starts.end(); ++start) {
      if (*start >= compared_.steps) return;
      CompareLabelsAt(*start);
      const auto next = std::next(start);
      const uint64_t end =
          std::min(compared_.steps, next == starts.end() ? UINT64_MAX : *next);
      if (*start + 1 < end) CompareLabelsAt(*start + 1);
    }
  }

 private:
  std::optional<uint64_t> FirstStep() const {
    if (!compared_.first) return std::nullopt;
    return compared_.first->step;
  }

  void Add(std::string what, DiffValue a, DiffValue b,
           std::optional<uint64_t> from_step, bool decides_tokens) {
    differences_->push_back({std::move(what), std::move(a), std::move(b),
                             from_step, decides_tokens});
  }

  // Of stages whose names are their own.
  static std::map<std::string, PlannedStage> StagesByName(
      const Schedule& schedule) {
    std::map<std::string, PlannedStage> stages;
    std::set<std::string> several;
    for (const PlannedStage& stage : schedule.stages()) {
      if (stage.name.empty()) continue;
      if (!stages.emplace(stage.name, stage).second) several.insert(stage.name);
    }
    for (const std::string& name : several) stages.erase(name);
    return stages;
  }

  // A stage that changes shares within a block cuts it, so that the order of
  // the samples before it is another, too.
  uint64_t StepFromCut(const Schedule& schedule,
                       const PlannedStage& stage) const {
    const uint64_t start = stage.start_step;
    if (!compared_.first || !ChangesShares(stage)) return start;
    const uint64_t first = compared_.first->step;
    if (first >= start) return start;
    const uint64_t end_of_first = schedule.FirstSample(first + 1);
    const uint64_t block = schedule.mixture_options().block_size;
    return schedule.FirstSample(start) < end_of_first + block ? first : start;
  }

  std::set<uint64_t> StretchStarts() const {
    std::set<uint64_t> starts;
    for (const Schedule* schedule : {&a_, &b_}) {
      for (const Stretch& stretch : schedule->stretches()) {
        starts.insert(stretch.first_step);
      }
    }
    return starts;
  }

  std::set<uint64_t> StageStarts() const {
    std::set<uint64_t> starts;
    for (const Schedule* schedule : {&a_, &b_}) {
      for (const PlannedStage& stage : schedule->stages()) {
        starts.insert(stage.start_step);
      }
    }
    return starts;
  }

  void CompareLabelsAt(uint64_t step) {
    const StepLabels a(a_, step);
    const StepLabels b(b_, step);
    CompareScales(a, b, step);
    AddLabel("stage", a.stage, b.stage, step);
    std::set<std::string> names;
    for (const StepLabels* labels : {&a, &b}) {
      for (const auto& [name, value] : labels->numbers) names.insert(name);
    }
    for (const std::string& name : names) {
      AddLabel(absl::StrCat("number '", name, "'"), NumberOf(a, name),
               NumberOf(b, name), step);
    }
  }

  // What the stages state, if that differs: the factor of a step in a line
  // stands in no file.
  void CompareScales(const StepLabels& a, const StepLabels& b, uint64_t step) {
    if (a.lr_scale == b.lr_scale) return;
    const auto end = [](const StepLabels& one) {
      return one.stated.lr_scale_end ? DiffValue(*one.stated.lr_scale_end)
                                     : DiffValue();
    };
    if (a.stated.lr_scale != b.stated.lr_scale) {
      AddLabel("lr_scale", a.stated.lr_scale, b.stated.lr_scale, step);
    }
    if (end(a) != end(b)) {
      AddLabel("lr_scale_end", end(a), end(b), step);
    } else if (a.stated.lr_scale == b.stated.lr_scale) {
      AddLabel("lr_scale", a.lr_scale, b.lr_scale, step);
    }
  }

  static DiffValue NumberOf(const StepLabels& labels, const std::string& name) {
    const auto found = labels.numbers.find(name);
    if (found == labels.numbers.end()) return {};
    return found->second;
  }

  void AddLabel(const std::string& what, const DiffValue& a, const DiffValue& b,
                uint64_t step) {
    if (a == b || !labels_.insert(what).second) return;
    Add(what, a, b, step, false);
  }

  const Schedule& a_;
  const Schedule& b_;
  const ComparedSamples& compared_;
  std::vector<RunDifference>* const differences_;
  std::set<std::string> labels_;  // that differ in an earlier step
};

// Of what changes no token, from the first step on.
void AddSetting(std::string what, DiffValue a, DiffValue b,
                std::vector<RunDifference>* differences) {
  if (a == b) return;
  differences->push_back({std::move(what), std::move(a), std::move(b), 0,
                          /*decides_tokens=*/false});
}

}  // namespace

void AppendScheduleDifferences(const TracedRun& a, const TracedRun& b,
                               const ComparedSamples& compared,
                               std::vector<RunDifference>* differences) {
  ScheduleDiff diff(a, b, compared, differences);
  diff.CompareSizes();
  diff.CompareCuts();
  diff.CompareStarts();
  diff.CompareLabels();
  if (StepsOf(a) != StepsOf(b)) {
    differences->push_back(
        {"steps", StepsOf(a), StepsOf(b), compared.steps, false});
  }
}

void AppendLoaderDifferences(const LoaderOptions& a, const LoaderOptions& b,
                             std::vector<RunDifference>* differences) {
  const auto add = [&](std::string what, DiffValue in_a, DiffValue in_b) {
    AddSetting(std::move(what), std::move(in_a), std::move(in_b), differences);
  };
  const auto last_batch = [](const LoaderOptions& options) {
    return std::string(options.last_batch == LastBatch::kDrop ? "drop"
                                                              : "keep");
  };
  const auto tensors = [](const LoaderOptions& options) {
    std::vector<std::string> names;
    for (const BatchTensor tensor : options.tensors) {
      names.emplace_back(BatchTensorName(tensor));
    }
    return absl::StrJoin(names, ", ");
  };
  add("last_batch", last_batch(a), last_batch(b));
  std::set<std::string> weighted;
  for (const LoaderOptions* options : {&a, &b}) {
    for (const auto& [path, weight] : options->loss_weights) {
      weighted.insert(path);
    }
  }
  const auto loss_weight = [](const LoaderOptions& options,
                              const std::string& path) -> DiffValue {
    const auto found = options.loss_weights.find(path);
    if (found == options.loss_weights.end()) return {};
    return double{found->second};
  };
  for (const std::string& path : weighted) {
    add(absl::StrCat("loss_weight of '", path, "'"), loss_weight(a, path),
        loss_weight(b, path));
  }
  add("runtime.token_type", std::string(TokenTypeName(a.token_type)),
      std::string(TokenTypeName(b.token_type)));
  add("runtime.tensors", tensors(a), tensors(b));
  add("runtime.device", DeviceName(a.device), DeviceName(b.device));
  const auto boolean = [](bool value) {
    return std::string(value ? "true" : "false");
  };
  add("runtime.attention_across_documents",
      boolean(a.documents.attention_across),
      boolean(b.documents.attention_across));
  add("runtime.loss_across_documents", boolean(a.documents.loss_across),
      boolean(b.documents.loss_across));
  add("runtime.restart_positions", boolean(a.documents.restart_positions),
      boolean(b.documents.restart_positions));
  add("runtime.labels_beyond_sample", boolean(a.documents.labels_beyond_sample),
      boolean(b.documents.labels_beyond_sample));
  add("runtime.even_work", boolean(a.sharing.even_work),
      boolean(b.sharing.even_work));
  add("runtime.linear_cost", a.sharing.linear_cost, b.sharing.linear_cost);
  add("runtime.max_documents", uint64_t{a.documents.max_documents},
      uint64_t{b.documents.max_documents});
  add("runtime.widen_on_device", boolean(a.widen_on_device),
      boolean(b.widen_on_device));
  add("runtime.prefetch_batches", uint64_t{a.prefetch_batches},
      uint64_t{b.prefetch_batches});
  add("runtime.prefetch_bytes", a.prefetch_bytes, b.prefetch_bytes);
  add("runtime.max_held", uint64_t{a.max_held}, uint64_t{b.max_held});
  add("runtime.waits_for_held", boolean(a.waits_for_held),
      boolean(b.waits_for_held));
  add("runtime.report_every_steps", a.report_every_steps, b.report_every_steps);
}

void AppendIoDifferences(const ByteReaderOptions& a, const ByteReaderOptions& b,
                         std::vector<RunDifference>* differences) {
  const auto cache_bytes = [](const ByteReaderOptions& options) -> DiffValue {
    if (options.cache_bytes) return *options.cache_bytes;
    return {};
  };
  AddSetting("runtime.io", std::string(IoBackendName(a.backend)),
             std::string(IoBackendName(b.backend)), differences);
  AddSetting("runtime.verify_checksums",
             std::string(VerifyChecksumsName(a.verify)),
             std::string(VerifyChecksumsName(b.verify)), differences);
  AddSetting("runtime.cache_bytes", cache_bytes(a), cache_bytes(b),
             differences);
}

}  // namespace poniente::internal
