// SPDX-License-Identifier: Apache-2.0
#include "config/parse/stage_parser.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "config/parse/by_component.h"
#include "config/parse/run_points.h"
#include "config/parse/threshold_parser.h"
#include "config/parse/weights_sum.h"
#include "dataset/joined_path.h"
#include "index/max_samples.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr double kLeastTemperature = 0x1p-10;
// What shares that sum to 1 may be off by: decimals of seven places.
constexpr double kShareError = 1e-6;

std::map<std::string, double> ParseNumbers(TableReader& stage) {
  std::map<std::string, double> numbers;
  const toml::table* table = stage.Table("numbers");
  if (table == nullptr) return numbers;
  TableReader reader(*table, stage.LocationOf("numbers"), stage.errors());
  for (const std::string& name : reader.KeysInOrder()) {
    if (const auto number = reader.Number(name)) numbers[name] = *number;
  }
  return numbers;
}

void ParseLrScale(TableReader& stage, RunStage* spec) {
  spec->lr_scale = stage.Number("lr_scale").value_or(1);
  if (!(std::isfinite(spec->lr_scale) && spec->lr_scale > 0)) {
    stage.Error("lr_scale", absl::StrCat("must be finite and above 0, got ",
                                         spec->lr_scale));
  }
  spec->lr_scale_end = stage.Number("lr_scale_end");
  if (spec->lr_scale_end.has_value() &&
      !(std::isfinite(*spec->lr_scale_end) && *spec->lr_scale_end >= 0)) {
    stage.Error("lr_scale_end",
                absl::StrCat("must be finite and at least 0, got ",
                             *spec->lr_scale_end));
  }
}

// Nodes by the names that lead to them, and whether each has a source with
// fill_in_the_middle.
using InfilledNodes = std::map<std::string, bool>;

void AddInfilledBelow(const Node& node, bool is_above, const std::string& path,
                      const InfilledNodes& components, InfilledNodes* nodes) {
  const bool is_infilled = IsInfilled(node, is_above);
  for (const Node& child : node.children) {
    const std::string of_child = JoinedPath(path, child.name);
    // A component's name may have slashes: it is not another's path, then.
    if (!components.contains(of_child)) {
      (*nodes)[of_child] |= HasInfilledSource(child, is_infilled);
    }
    AddInfilledBelow(child, is_infilled, of_child, components, nodes);
  }
}

InfilledNodes InfilledNodesOf(const Node& mixture) {
  InfilledNodes components;
  const bool is_infilled = IsInfilled(mixture, false);
  for (const Node& child : mixture.children) {
    components[child.name] = HasInfilledSource(child, is_infilled);
  }
  InfilledNodes nodes = components;
  AddInfilledBelow(mixture, false, "", components, &nodes);
  return nodes;
}

// Rates of fill_in_the_middle, by path below the root.
void ParseInfillingRates(TableReader& stage, const Node& mixture,
                         const InfilledNodes& nodes, RunStage* spec) {
  constexpr const char* kKey = "fim_rates";
  std::vector<std::string> known;
  for (const auto& [path, has_source] : nodes) known.push_back(path);
  const std::string others =
      absl::StrCat("is not a component of ", mixture.location.key,
                   ", nor the path of a node below");
  ForEachName(stage, kKey, known, others,
              [&](TableReader& rates, const std::string& name) {
                const double rate = rates.Number(name).value_or(1);
                spec->fim_rates[name] = rate;
                if (!(rate >= 0 && rate <= 1)) {
                  stage.Error(kKey, absl::StrCat("must be from 0 to 1, got ",
                                                 rate, " for ", name));
                }
                if (nodes.at(name)) return;
                stage.Error(kKey,
                            absl::StrCat("names ", name,
                                         ", which has no source with "
                                         "fill_in_the_middle: state it there, "
                                         "with the ids that mark the parts"));
              });
}

class RunStagesParser {
 public:
  RunStagesParser(TableReader& data, Node* root, ShareOf share_of, Run* run)
      : data_(data),
        root_(root),
        share_of_(share_of),
        run_(run),
        starts_(*run) {}

  void Parse(const toml::array& array) {
    for (size_t i = 0; i < array.size(); ++i) {
      const toml::table& table = *array.get(i)->as_table();
      TableReader stage(table,
                        LocationOfNode(table, data_.location(),
                                       absl::StrCat("stages[", i, "]")),
                        data_.errors(), {KeyTable::kStage});
      ParseOne(stage);
      stage.Finish();
    }
    shares_.Finish(data_, array.size());
  }

 private:
  void ParseOne(TableReader& stage) {
    RunStage& spec = run_->stages.emplace_back();
    spec.location = stage.location();
    ParseStart(stage, &spec);
    spec.name = stage.String("name").value_or("");
    ParseLrScale(stage, &spec);
    spec.batch_size = stage.Unsigned("batch_size", 1, uint64_t{1} << 32);
    if (const auto length = stage.Unsigned("seq_len", 1, UINT32_MAX - 1)) {
      spec.seq_len = static_cast<uint32_t>(*length);
    }
    spec.ramp = ParsePoint(stage, kRamp, share_of_, PointKind::kAmount);
    spec.is_ramp_centred = stage.Bool("ramp_centred").value_or(false);
    spec.numbers = ParseNumbers(stage);
    if (root_ == nullptr) {
      RefuseShares(stage);
      return;
    }
    ParseStageShares(stage, *root_, &spec);
    if (stage.Table("fim_rates") != nullptr) {
      if (infilled_.empty()) infilled_ = InfilledNodesOf(*root_);
      ParseInfillingRates(stage, *root_, infilled_, &spec);
    }
    const bool is_first = run_->stages.size() == 1 && IsStartOfRun(spec.start);
    if (!is_first) return;
    AdoptFirstStage(&spec, root_);
  }

  void ParseStart(TableReader& stage, RunStage* spec) {
    if (const auto start =
            shares_.Parse(stage, share_of_, HasPoint(stage, kStart))) {
      spec->start = *start;
      return;
    }
    if (!HasPoint(stage, kStart)) {
      stage.ErrorHere("needs start_step");
      return;
    }
    const auto start =
        ParsePoint(stage, kStart, share_of_, PointKind::kPosition);
    if (!start.has_value()) return;
    spec->start = *start;
    starts_.Check(stage, KeyOf(*start), *start);
  }

  void RefuseShares(TableReader& stage) {
    for (const char* key : {"weights", "weights_sum", "thresholds", "fim_rates",
                            "temperature", "ramp_temperature"}) {
      if (stage.Has(key)) stage.Error(key, "need a mixture at the root");
    }
    if (HasPoint(stage, kRamp)) {
      stage.ErrorHere("has a ramp, which needs a mixture at the root");
    }
  }

  TableReader& data_;
  Node* const root_;
  const ShareOf share_of_;
  Run* const run_;
  StartOrder starts_;
  StageShares shares_;
  InfilledNodes infilled_;  // filled by the first stage that needs them
};

template <class Add>
void ParseSizeList(TableReader& data, std::string_view key, KeyTable keys,
                   ShareOf share_of, const Run& run,
                   std::vector<SourceLocation>* locations, const Add& add) {
  const toml::array* array = data.Tables(key);
  if (array == nullptr) return;
  StartOrder starts(run);
  for (size_t i = 0; i < array->size(); ++i) {
    const toml::table& table = *array->get(i)->as_table();
    TableReader change(table,
                       LocationOfNode(table, data.location(),
                                      absl::StrCat(Absl(key), "[", i, "]")),
                       data.errors(), {keys});
    const bool has_start = HasPoint(change, kStart);
    const auto start =
        ParsePoint(change, kStart, share_of, PointKind::kPosition);
    if (!has_start) change.ErrorHere("needs start_step");
    if (start.has_value()) starts.Check(change, KeyOf(*start), *start);
    add(change, start.value_or(RunPoint::Step(0)));
    locations->push_back(change.location());
    change.Finish();
  }
}

}  // namespace

void ParseStageShares(TableReader& stage, const Node& mixture, RunStage* spec) {
  spec->weights = ParseWeights(stage, "weights", mixture);
  if (stage.IsTable("weights")) {
    CheckSomeWeight(mixture, spec->weights, stage.LocationOf("weights"),
                    stage.errors());
  }
  spec->weights_sum = ParseWeightsSum(stage, "weights_sum");
  spec->thresholds = ParseThresholds(stage, "thresholds", mixture);
  spec->temperature = ParseTemperature(stage, "temperature");
  spec->ramp_blocks = static_cast<uint32_t>(
      stage.Unsigned("ramp_blocks", 0, UINT32_MAX).value_or(0));
  spec->ramps_temperature = stage.Bool("ramp_temperature").value_or(false);
}

void AdoptFirstStage(RunStage* stage, Node* mixture) {
  for (Node& child : mixture->children) {
    const auto weight = stage->weights.find(child.name);
    if (weight != stage->weights.end()) {
      child.weight = weight->second;
    }
    const auto threshold = stage->thresholds.find(child.name);
    if (threshold != stage->thresholds.end()) {
      SetThreshold(threshold->second, &child);
    }
  }
  stage->weights.clear();
  stage->thresholds.clear();
}

std::optional<RunPoint> StageShares::Parse(TableReader& stage, ShareOf share_of,
                                           bool has_start) {
  if (!stage.Has("share")) return std::nullopt;
  ++stages_;
  if (has_start) stage.Error("share", "cannot be combined with a start");
  const RunPoint start = ShareOfRun(sum_, share_of);
  const std::optional<double> share = stage.Number("share");
  if (share.has_value() && !(*share > 0 && *share <= 1)) {
    stage.Error("share",
                absl::StrCat("must be above 0 and at most 1, got ", *share));
  } else {
    sum_ += share.value_or(0);
  }
  return start;
}

void StageShares::Finish(TableReader& owner, size_t stages) const {
  if (stages_ == 0) return;
  if (stages_ < stages) {
    owner.Error("stages",
                absl::StrCat("must all state a share, or none of them: ",
                             stages_, " of ", stages, " do"));
  } else if (std::abs(sum_ - 1) > kShareError) {
    owner.Error("stages",
                absl::StrCat("have shares that sum to ", sum_, ", not to 1"));
  }
}

std::optional<double> ParseWeight(TableReader& table, std::string_view key,
                                  WeightRule rule) {
  const std::optional<double> weight = table.Number(key);
  if (!weight.has_value()) return std::nullopt;
  if (rule == WeightRule::kScores) {
    if (*weight < INFINITY) return weight;
    table.Error(key, absl::StrCat("must be below infinity, got ", *weight));
    return std::nullopt;
  }
  if (std::isfinite(*weight) && *weight >= 0) return weight;
  table.Error(key,
              absl::StrCat("must be finite and at least 0, got ", *weight));
  return std::nullopt;
}

std::optional<double> ParseTemperature(TableReader& table,
                                       std::string_view key) {
  const std::optional<double> temperature = table.Number(key);
  if (!temperature.has_value() || *temperature >= kLeastTemperature) {
    return temperature;
  }
  table.Error(key, absl::StrCat("must be at least 2^-10, got ", *temperature));
  return std::nullopt;
}

std::map<std::string, double> ParseWeights(TableReader& stage,
                                           std::string_view key,
                                           const Node& mixture) {
  std::map<std::string, double> weights;
  ForEachComponent(
      stage, key, mixture, [&](TableReader& table, const std::string& name) {
        // A wrong one is reported, and must not look like nothing at all.
        weights[name] =
            ParseWeight(table, name, mixture.mixture.weight_rule).value_or(1);
      });
  return weights;
}

void CheckSomeWeight(const Node& mixture,
                     const std::map<std::string, double>& weights,
                     const SourceLocation& location, ErrorList* errors) {
  const bool is_scores = mixture.mixture.weight_rule == WeightRule::kScores;
  for (const Node& child : mixture.children) {
    const auto stated = weights.find(child.name);
    const double weight =
        stated == weights.end() ? WeightOf(child) : stated->second;
    if (is_scores ? weight > -INFINITY : weight > 0) return;
  }
  errors->Add(location, is_scores
                            ? "are all minus infinity: nothing could be drawn"
                            : "are all zero: nothing could be drawn");
}

void ParseRunStages(TableReader& data, Node* root, ShareOf share_of, Run* run) {
  const toml::array* array = data.Tables("stages");
  if (array == nullptr) return;
  RunStagesParser(data, root, share_of, run).Parse(*array);
}

void ParseSizeLists(TableReader& data, ShareOf share_of, Run* run) {
  ParseSizeList(data, "batch_sizes", KeyTable::kBatchSize, share_of, *run,
                &run->batch_sizes_locations,
                [run](TableReader& change, const RunPoint& start) {
                  const bool is_stated = change.Has("batch_size");
                  const auto size =
                      change.Unsigned("batch_size", 1, uint64_t{1} << 32);
                  if (!is_stated) change.ErrorHere("needs batch_size");
                  run->batch_sizes.push_back({start, size.value_or(1)});
                });
  ParseSizeList(data, "seq_lens", KeyTable::kSeqLen, share_of, *run,
                &run->seq_lens_locations,
                [run](TableReader& change, const RunPoint& start) {
                  const bool is_stated = change.Has("seq_len");
                  const auto length =
                      change.Unsigned("seq_len", 1, UINT32_MAX - 1);
                  if (!is_stated) change.ErrorHere("needs seq_len");
                  run->seq_lens.push_back(
                      {start, static_cast<uint32_t>(length.value_or(1))});
                });
}

}  // namespace poniente::internal
