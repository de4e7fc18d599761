// SPDX-License-Identifier: Apache-2.0
#include "config/parse/nested_stage_parser.h"

#include <cstddef>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "config/parse/run_points.h"
#include "config/parse/stage_parser.h"
#include "index/max_samples.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Counts of the nested mixture's own samples are of no unit of the run.
enum class NestedUnit { kOwnSamples, kStepsOfRun, kTokensOfRun };

NestedUnit UnitOf(const RunPoint& point) {
  switch (point.unit) {
    case RunPoint::Unit::kSamples:
      return NestedUnit::kOwnSamples;
    case RunPoint::Unit::kTokens:
    case RunPoint::Unit::kShareOfTokens:
      return NestedUnit::kTokensOfRun;
    default:
      return NestedUnit::kStepsOfRun;
  }
}

class MixtureStagesParser {
 public:
  MixtureStagesParser(TableReader& node, ShareOf share_of, Node* mixture)
      : node_(node), share_of_(share_of), mixture_(mixture) {}

  void Parse(const toml::array& array) {
    for (size_t i = 0; i < array.size(); ++i) {
      const toml::table& table = *array.get(i)->as_table();
      TableReader stage(table,
                        LocationOfNode(table, node_.location(),
                                       absl::StrCat("stages[", i, "]")),
                        node_.errors(), {KeyTable::kMixtureStage});
      ParseOne(stage, i == 0);
      stage.Finish();
    }
    shares_.Finish(node_, array.size());
  }

 private:
  void ParseOne(TableReader& stage, bool is_first) {
    RunStage spec;
    spec.location = stage.location();
    const bool has_start = ParseStart(stage, is_first, &spec);
    spec.name = stage.String("name").value_or("");
    ParseStageShares(stage, *mixture_, &spec);
    ParseRamp(stage, has_start, &spec);
    const bool starts_run =
        is_first && IsShare(spec.start) && IsStartOfRun(spec.start);
    if (!starts_run) {
      mixture_->stages.push_back(std::move(spec));
      return;
    }
    if (spec.temperature || spec.ramp || spec.weights_sum) {
      stage.ErrorHere(
          "starts the run, so it may state only weights and thresholds: state "
          "temperature and weights_sum for the mixture itself");
    }
    AdoptFirstStage(&spec, mixture_);
  }

  // Returns whether a start is known.
  bool ParseStart(TableReader& stage, bool is_first, RunStage* spec) {
    if (const auto start =
            shares_.Parse(stage, share_of_, HasPoint(stage, kStart))) {
      spec->start = *start;
      return true;
    }
    if (!HasPoint(stage, kStart)) {
      stage.ErrorHere("needs start_sample");
      return false;
    }
    const bool of_run = !stage.Has(kStart.sample);
    const auto start =
        ParsePoint(stage, kStart, share_of_,
                   of_run ? PointKind::kPosition : PointKind::kAmount);
    if (!start.has_value()) return false;
    spec->start = *start;
    CheckOrder(stage, is_first, *start);
    before_ = start;
    return true;
  }

  // As far as starts can be compared before the length of the run is known.
  void CheckOrder(TableReader& stage, bool is_first, const RunPoint& start) {
    const bool is_same = before_.has_value() && before_->unit == start.unit &&
                         (before_->count < 0) == (start.count < 0);
    if (IsShare(start)) {
      const double least = is_same ? before_->share : 0;
      if (start.share > least || (is_first && start.share == 0)) return;
      stage.Error(KeyOf(start),
                  absl::StrCat("must be above ", least,
                               ", to come after the stage before it, got ",
                               start.share));
      return;
    }
    const int64_t least = is_same ? before_->count + 1 : 1;
    if (start.count >= least || (!is_same && start.count < 0)) return;
    stage.Error(
        KeyOf(start),
        absl::StrCat("must be at least ", least,
                     ", to come after the stage before it, got ", start.count));
  }

  void ParseRamp(TableReader& stage, bool has_start, RunStage* spec) {
    spec->ramp = ParsePoint(stage, kRamp, share_of_, PointKind::kAmount);
    spec->is_ramp_centred = stage.Bool("ramp_centred").value_or(false);
    if (spec->is_ramp_centred && !HasPoint(stage, kRamp)) {
      stage.Error("ramp_centred", "needs a ramp to be centred");
    }
    if (!spec->ramp.has_value() || !has_start) return;
    const NestedUnit unit = UnitOf(*spec->ramp);
    const NestedUnit start = UnitOf(spec->start);
    const std::string_view key = KeyOf(*spec->ramp, kRamp);
    if (start == NestedUnit::kOwnSamples && unit != start) {
      stage.Error(key,
                  "needs a start in the run (start_step, start_token, "
                  "start_share or share), because start_sample counts samples "
                  "of this mixture; state ramp_samples");
    } else if (spec->is_ramp_centred && unit != start) {
      stage.Error(key,
                  "must be in the unit of the start, on which the ramp is "
                  "centred");
    }
  }

  TableReader& node_;
  const ShareOf share_of_;
  Node* const mixture_;
  StageShares shares_;
  std::optional<RunPoint> before_;
};

}  // namespace

void ParseMixtureStages(TableReader& node, ShareOf share_of, Node* mixture) {
  const toml::array* array = node.Tables("stages");
  if (array == nullptr) return;
  MixtureStagesParser(node, share_of, mixture).Parse(*array);
}

}  // namespace poniente::internal
