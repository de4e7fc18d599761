// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_views/plan_table.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/plan_views/plan_evals.h"
#include "cli/plan_views/plan_notes.h"
#include "cli/screen/console.h"
#include "cli/screen/table.h"

namespace poniente::cli {
namespace {

using Row = std::vector<std::string>;

// More stages than these have no columns of their own.
constexpr size_t kMaxColumns = 8;

// "4096", or "4096..32768" if it changes on the way.
template <class Get>
std::string Range(const PlannedRunStage& stage, const Get& get) {
  uint64_t low = UINT64_MAX;
  uint64_t high = 0;
  for (const auto& stretch : stage.stretches) {
    low = std::min<uint64_t>(low, get(stretch));
    high = std::max<uint64_t>(high, get(stretch));
  }
  return low == high ? absl::StrCat(low) : absl::StrCat(low, "..", high);
}

std::string LrScale(const PlannedRunStage& stage) {
  const std::string first = absl::StrFormat("%.4g", stage.lr_scale);
  const std::string last = absl::StrFormat("%.4g", stage.last_lr_scale);
  return first == last ? first : absl::StrCat(first, "..", last);
}

std::string RampEndText(const PlannedRunStage& stage) {
  if (!stage.ramp_end_step) return "-";
  return absl::StrCat(Count(*stage.ramp_end_step),
                      stage.is_ramp_cut ? " (cut)" : "");
}

void PrintStages(const PlannedRun& plan, std::ostream& out) {
  std::vector<Row> rows = {{"stage", "steps", "batch", "seq_len", "samples",
                            "tokens", "lr_scale", "read per step"}};
  const bool has_ramps = std::any_of(
      plan.stages.begin(), plan.stages.end(),
      [](const auto& stage) { return stage.ramp_end_step.has_value(); });
  if (has_ramps) rows[0].push_back("ramp until step");
  for (size_t i = 0; i < plan.stages.size(); ++i) {
    const PlannedRunStage& stage = plan.stages[i];
    rows.push_back(
        {OneLine(plan.stages[i].name),
         absl::StrCat(Count(stage.first_step), "..", Count(stage.end_step - 1)),
         Range(stage, [](const auto& stretch) { return stretch.batch_size; }),
         Range(stage, [](const auto& stretch) { return stretch.seq_len; }),
         Count(stage.samples), ShortCount(static_cast<double>(stage.tokens)),
         LrScale(stage), Bytes(stage.bytes_per_step)});
    if (!has_ramps) continue;
    rows.back().push_back(RampEndText(stage));
  }
  PrintTable(rows, out);
}

std::string NameOf(const PlannedRunSource& source) {
  return absl::StrCat(std::string(2 * size_t{source.depth}, ' '),
                      OneLine(source.name), source.is_leaf ? "" : "/");
}

// Columns of the stages, if they are few and several.
size_t StageColumns(const PlannedRun& plan) {
  const size_t stages = plan.stages.size();
  return stages > 1 && stages <= kMaxColumns ? stages : 0;
}

std::string Approximately(const PlannedRunSource& source) {
  return source.is_exact ? "" : "~";
}

void PrintPlannedTokens(const PlannedRun& plan, std::ostream& out) {
  std::vector<Row> rows = {{"tokens of", "one epoch"}};
  for (size_t i = 0; i < StageColumns(plan); ++i) {
    rows[0].push_back(OneLine(plan.stages[i].name));
  }
  rows[0].insert(rows[0].end(), {"all", "share", "epochs", "first repeat"});
  for (const PlannedRunSource& source : plan.sources) {
    const std::string sign = Approximately(source);
    Row& row = rows.emplace_back();
    row.push_back(NameOf(source));
    row.push_back(source.epoch_tokens
                      ? ShortCount(static_cast<double>(*source.epoch_tokens))
                      : "endless");
    for (size_t i = 0; i < StageColumns(plan); ++i) {
      row.push_back(sign + ShortCount(source.tokens[i]));
    }
    const double tokens = source.total_tokens();
    const auto all = static_cast<double>(std::max<uint64_t>(1, plan.tokens));
    row.push_back(sign + ShortCount(tokens));
    row.push_back(absl::StrFormat("%.2f%%", 100 * tokens / all));
    row.push_back(source.epochs ? sign + absl::StrFormat("%.2f", *source.epochs)
                                : "-");
    row.push_back(source.first_repeat
                      ? absl::StrCat(source.first_repeat->is_exact
                                         ? "step "
                                         : "from step ",
                                     Count(source.first_repeat->step))
                      : "-");
  }
  PrintTable(rows, out);
}

// "12,345 (0.31)"
std::string SamplesAndEpochs(const PlannedRunSource& source, size_t stage) {
  std::string cell = Approximately(source) +
                     Count(static_cast<uint64_t>(source.samples[stage] + 0.5));
  if (!source.stage_epochs.empty()) {
    absl::StrAppendFormat(&cell, " (%.2f)", source.stage_epochs[stage]);
  }
  return cell;
}

void PrintSamples(const PlannedRun& plan, std::ostream& out) {
  std::vector<Row> rows = {{"samples of (epochs)"}};
  for (size_t i = 0; i < StageColumns(plan); ++i) {
    rows[0].push_back(OneLine(plan.stages[i].name));
  }
  rows[0].push_back("all");
  for (const PlannedRunSource& source : plan.sources) {
    Row& row = rows.emplace_back();
    row.push_back(NameOf(source));
    for (size_t i = 0; i < StageColumns(plan); ++i) {
      row.push_back(SamplesAndEpochs(source, i));
    }
    row.push_back(Approximately(source) +
                  Count(static_cast<uint64_t>(source.total_samples() + 0.5)));
  }
  PrintTable(rows, out);
}

// `view`: which of several of this length; 0 for the only one.
Row PackingRow(const PlannedRunSource& source, const PackingSummary& packing,
               size_t view) {
  const auto with_tokens = [](uint64_t documents, uint64_t tokens) {
    if (documents == 0) return std::string("0");
    return absl::StrCat(Count(documents), " (",
                        ShortCount(static_cast<double>(tokens)), " tokens)");
  };
  std::string name = NameOf(source);
  if (!source.other_packings.empty()) {
    absl::StrAppend(&name, " at ", Count(packing.window_tokens));
  }
  if (view > 0) absl::StrAppend(&name, ", ", view);
  if (packing.chunks > 0) {
    absl::StrAppend(&name, " in ", Count(packing.chunks), " chunks");
  }
  return {std::move(name),
          Count(packing.windows),
          absl::StrFormat("%.3f%%", 100 * packing.padding()),
          Count(packing.documents),
          Count(packing.split_documents),
          with_tokens(packing.truncated_documents, packing.truncated_tokens),
          with_tokens(packing.dropped_documents, packing.dropped_tokens),
          Count(packing.max_pieces)};
}

// Sources whose documents are packed whole, at each length; nothing if there
// are none.
void PrintPacking(const PlannedRun& plan, std::ostream& out) {
  std::vector<Row> rows = {{"packed", "windows", "padding", "documents",
                            "split", "truncated", "dropped",
                            "most in a window"}};
  for (const PlannedRunSource& source : plan.sources) {
    if (!source.packing.has_value()) continue;
    std::vector<PackingSummary> all = {*source.packing};
    all.insert(all.end(), source.other_packings.begin(),
               source.other_packings.end());
    std::map<uint64_t, size_t> count;  // by length
    for (const PackingSummary& one : all) ++count[one.window_tokens];
    std::map<uint64_t, size_t> number;
    for (const PackingSummary& one : all) {
      const bool is_only = count[one.window_tokens] == 1;
      rows.push_back(
          PackingRow(source, one, is_only ? 0 : ++number[one.window_tokens]));
    }
  }
  if (rows.size() == 1) return;
  out << '\n';
  PrintTable(rows, out);
}

// Sources whose documents are filled in the middle; nothing if there are none.
void PrintInfilling(const PlannedRun& plan, std::ostream& out) {
  std::vector<Row> rows = {{"filled in the middle"}};
  const size_t stages = StageColumns(plan);
  for (size_t i = 0; i < stages; ++i) {
    rows[0].push_back(OneLine(plan.stages[i].name));
  }
  if (stages == 0) rows[0].emplace_back("rate");
  for (const PlannedRunSource& source : plan.sources) {
    if (source.fim_rates.empty()) continue;
    Row& row = rows.emplace_back();
    row.push_back(NameOf(source));
    const auto [least, most] =
        std::minmax_element(source.fim_rates.begin(), source.fim_rates.end());
    for (size_t i = 0; i < stages; ++i) {
      row.push_back(absl::StrFormat("%.3g%%", 100 * source.fim_rates[i]));
    }
    if (stages > 0) continue;
    row.push_back(*least == *most ? absl::StrFormat("%.3g%%", 100 * *least)
                                  : absl::StrFormat("%.3g%% to %.3g%%",
                                                    100 * *least, 100 * *most));
  }
  if (rows.size() == 1) return;
  out << '\n';
  PrintTable(rows, out);
}

void PrintTotals(const PlannedRun& plan, std::ostream& out) {
  const AttentionSaved& saved = plan.attention;
  out << "  attention     "
      << (saved.same_tokens > 1
              ? absl::StrFormat("%.2f times cheaper than the same number of "
                                "tokens all at length %u; %.2f times cheaper "
                                "than the same number of steps",
                                saved.same_tokens, saved.longest,
                                saved.same_steps)
              : "one length throughout: nothing is saved")
      << '\n';
  out << "  read          " << Bytes(plan.bytes) << " as stored\n";
  out << "  skipped       " << ShortCount(plan.skipped_tokens)
      << " tokens at changes of length";
  if (plan.skipped_documents > 0) {
    out << " (about " << ShortCount(plan.skipped_documents)
        << " packed documents)";
  }
  if (plan.cut_off_tokens > 0) {
    out << ", " << ShortCount(plan.cut_off_tokens)
        << " at the ends of windows that samples do not fill";
  }
  out << "\n  left over     " << ShortCount(plan.left_over_tokens)
      << " tokens at the ends of stores, which fill no window\n";
}

// The first changes and the last, if there are many.
void PrintChanges(const PlannedRun& plan, std::ostream& out) {
  constexpr size_t kShown = 5;
  constexpr size_t kWidest = 72;
  const size_t count = plan.changes.size();
  if (count == 0) return;
  std::vector<Row> rows = {{"change", "number", "from step"}};
  for (size_t i = 0; i < count; ++i) {
    if (count > 2 * kShown + 1 && i == kShown) {
      rows.push_back(
          {absl::StrCat("... ", count - 2 * kShown, " more"), "", ""});
      i = count - kShown;
    }
    const PlannedRunChange& change = plan.changes[i];
    std::string what = OneLine(change.change);
    if (what.size() > kWidest) what = what.substr(0, kWidest - 3) + "...";
    rows.push_back({std::move(what), Count(change.number), Count(change.step)});
  }
  PrintTable(rows, out);
  out << '\n';
}

}  // namespace

void PrintPlan(const PlannedRun& plan, std::ostream& out) {
  PrintStages(plan, out);
  out << '\n';
  PrintChanges(plan, out);
  PrintPlannedTokens(plan, out);
  out << '\n';
  PrintSamples(plan, out);
  PrintPacking(plan, out);
  PrintInfilling(plan, out);
  PrintEvals(plan, out);
  if (plan.stages.size() > kMaxColumns) {
    out << "  (" << plan.stages.size()
        << " stages: counts of each are in --json)\n";
  }
  out << '\n';
  PrintTotals(plan, out);
  for (const std::string& warning : Warnings(plan)) {
    out << "  warning: " << OneLine(warning) << '\n';
  }
  for (const std::string& remark : Remarks(plan)) {
    out << "  note: " << OneLine(remark) << '\n';
  }
}

}  // namespace poniente::cli
