// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_views/plan_notes.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "cli/screen/console.h"

namespace poniente::cli {
namespace {

// "'a', 'b' and 7 more"
class NameList {
 public:
  void Add(const std::string& name, const std::string& more = "") {
    if (++count_ > kMax) return;
    absl::StrAppend(&names_, names_.empty() ? "" : ", ", "'", name, "'", more);
  }
  size_t count() const { return count_; }
  std::string Text() const {
    if (count_ <= kMax) return names_;
    return absl::StrCat(names_, " and ", Count(count_ - kMax), " more");
  }

 private:
  static constexpr size_t kMax = 8;

  std::string names_;
  size_t count_ = 0;
};

void AddStarved(const PlannedRun& plan, Starved why, const std::string& words,
                std::vector<std::string>* warnings) {
  NameList names;
  uint32_t below = UINT32_MAX;  // only the topmost are named
  for (const PlannedRunSource& source : plan.sources) {
    if (source.depth > below) continue;
    below = UINT32_MAX;
    if (source.starved == Starved::kNo) continue;
    below = source.depth;
    if (source.starved == why) names.Add(source.path);
  }
  if (names.count() == 0) return;
  warnings->push_back(absl::StrCat("never drawn, ", words, ": ", names.Text()));
}

void AddRepeated(const PlannedRun& plan, std::vector<std::string>* warnings) {
  NameList names;
  for (const PlannedRunSource& source : plan.sources) {
    if (!source.is_over_repeated) continue;
    names.Add(source.path, absl::StrFormat(" (%.2f epochs)", *source.epochs));
  }
  if (names.count() == 0) return;
  warnings->push_back(
      absl::StrFormat("read more than %g times (repeats beyond about four "
                      "epochs are worth less than new data): %s",
                      plan.max_repeats, names.Text()));
}

// Of tokens read, from which on what is skipped is worth a warning.
constexpr double kMuchSkipped = 0.01;

void AddSkipped(const PlannedRun& plan, std::vector<std::string>* warnings) {
  if (plan.skipped_tokens <= kMuchSkipped * static_cast<double>(plan.tokens)) {
    return;
  }
  std::vector<const PlannedRunSource*> skipped;
  for (const PlannedRunSource& source : plan.sources) {
    if (source.skipped_tokens > 0) skipped.push_back(&source);
  }
  std::stable_sort(skipped.begin(), skipped.end(),
                   [](const PlannedRunSource* a, const PlannedRunSource* b) {
                     return a->skipped_tokens > b->skipped_tokens;
                   });
  NameList names;
  for (const PlannedRunSource* source : skipped) {
    names.Add(source->path,
              absl::StrCat(" (", ShortCount(source->skipped_tokens), ")"));
  }
  const bool skips_documents =
      !skipped.empty() && skipped[0]->skipped_documents > 0;
  // What a root skips that is no mixture belongs to none of its sources.
  const std::string most =
      skipped.empty()
          ? ""
          : absl::StrCat("the sources that skip most: ", names.Text(), "; ");
  warnings->push_back(absl::StrFormat(
      "changes of sequence length skip %s tokens, while %s are read; %sa "
      "smaller %s skips fewer",
      ShortCount(plan.skipped_tokens),
      ShortCount(static_cast<double>(plan.tokens)), most,
      skips_documents ? "shuffle_chunks or chunk_documents" : "group_items"));
}

}  // namespace

std::string ShortCount(double number) {
  if (number >= 1e9) return absl::StrFormat("%.1f B", number / 1e9);
  if (number >= 1e6) return absl::StrFormat("%.1f M", number / 1e6);
  return Count(static_cast<uint64_t>(std::llround(number)));
}

std::vector<std::string> Warnings(const PlannedRun& plan) {
  std::vector<std::string> warnings;
  if (!plan.refusal.empty()) {
    warnings.push_back(
        absl::StrCat("a loader refuses this run: ",
                     absl::StrReplaceAll(plan.refusal, {{"\n", "; "}})));
  }
  if (plan.is_cut_short) {
    warnings.push_back(
        absl::StrCat("the data ends before the stated number of steps: after ",
                     Plural(plan.steps, "step")));
  }
  AddStarved(plan, Starved::kNoWeight, "as their weight is 0 throughout",
             &warnings);
  AddStarved(plan, Starved::kNoWindow,
             absl::StrCat("as they hold no whole window of ", plan.max_seq_len,
                          " tokens"),
             &warnings);
  AddStarved(plan, Starved::kNotReached, "as the run ends before their turn",
             &warnings);
  AddRepeated(plan, &warnings);
  AddSkipped(plan, &warnings);
  return warnings;
}

std::vector<std::string> Remarks(const PlannedRun& plan) {
  std::vector<std::string> remarks;
  if (!plan.is_exact) {
    remarks.push_back(
        "~ marks expected values: the end of a stage or of the run cuts an "
        "epoch, or a group of windows, whose order is too long to look up. All "
        "other counts are exact");
  }
  NameList assumed;
  for (const PlannedRunSource& source : plan.sources) {
    if (source.is_leaf && !source.is_width_known) assumed.Add(source.path);
  }
  if (assumed.count() > 0) {
    remarks.push_back(absl::StrCat(
        "bytes: for stores that do not exist yet, each id is assumed to have "
        "the width that the vocabulary needs, or 4 bytes if it is not known: ",
        assumed.Text()));
  }
  return remarks;
}

}  // namespace poniente::cli
