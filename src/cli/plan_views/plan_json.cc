// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_views/plan_json.h"

#include <cmath>
#include <optional>

#include "cli/plan_views/plan_evals.h"
#include "cli/plan_views/plan_notes.h"

namespace poniente::cli {
namespace {

using Json = nlohmann::ordered_json;

// Whole numbers as such.
Json Number(double value) {
  const double rounded = std::round(value);
  if (value == rounded && value >= 0 && value < 0x1p63) {
    return static_cast<uint64_t>(value);
  }
  return value;
}

Json Numbers(const std::vector<double>& values) {
  Json json = Json::array();
  for (const double value : values) json.push_back(Number(value));
  return json;
}

// Seven digits: more than a picture shows.
double Short(double value) {
  if (value == 0 || !std::isfinite(value)) return 0;
  const double unit = std::pow(10, std::floor(std::log10(std::abs(value))) - 6);
  return unit >= 1 ? std::round(value / unit) * unit
                   : std::round(value / unit) / std::round(1 / unit);
}

template <class T>
Json OrNull(const std::optional<T>& value) {
  return value.has_value() ? Json(*value) : Json();
}

Json StageJson(const PlannedRun& plan, size_t number) {
  const PlannedRunStage& stage = plan.stages[number];
  Json json;
  json["name"] = stage.name;
  json["first_step"] = stage.first_step;
  json["end_step"] = stage.end_step;
  json["samples"] = stage.samples;
  json["tokens"] = stage.tokens;
  json["lr_scale"] = stage.lr_scale;
  json["last_lr_scale"] = stage.last_lr_scale;
  json["ramp_end_step"] = OrNull(stage.ramp_end_step);
  json["is_ramp_cut"] = stage.is_ramp_cut;
  json["bytes_per_step"] = Number(stage.bytes_per_step);
  json["stretches"] = Json::array();
  for (const auto& stretch : stage.stretches) {
    json["stretches"].push_back({{"first_step", stretch.first_step},
                                 {"end_step", stretch.end_step},
                                 {"batch_size", stretch.batch_size},
                                 {"seq_len", stretch.seq_len}});
  }
  return json;
}

Json StarvedJson(Starved starved) {
  switch (starved) {
    case Starved::kNo:
      return Json();
    case Starved::kNoWeight:
      return "no_weight";
    case Starved::kNoWindow:
      return "no_window";
    case Starved::kNotReached:
      return "not_reached";
  }
  return Json();
}

Json PackingJson(const PackingSummary& packing) {
  return {{"chunks", packing.chunks},
          {"windows", packing.windows},
          {"window_tokens", packing.window_tokens},
          {"documents", packing.documents},
          {"tokens", packing.tokens},
          {"pieces", packing.pieces},
          {"most_in_a_window", packing.max_pieces},
          {"padding_tokens", packing.padding_tokens()},
          {"padding", packing.padding()},
          {"split_documents", packing.split_documents},
          {"truncated_documents", packing.truncated_documents},
          {"truncated_tokens", packing.truncated_tokens},
          {"dropped_documents", packing.dropped_documents},
          {"dropped_tokens", packing.dropped_tokens}};
}

Json SourceJson(const PlannedRunSource& source) {
  Json json;
  json["name"] = source.name;
  json["path"] = source.path;
  json["kind"] = source.kind;
  json["depth"] = source.depth;
  json["epoch_windows"] = OrNull(source.length);
  json["epoch_tokens"] = OrNull(source.epoch_tokens);
  json["samples"] = Numbers(source.samples);
  json["stage_tokens"] = Numbers(source.tokens);
  json["stage_epochs"] = source.stage_epochs;
  json["tokens"] = Number(source.total_tokens());
  json["epochs"] = OrNull(source.epochs);
  json["exact"] = source.is_exact;
  json["first_repeat"] = Json();
  if (source.first_repeat.has_value()) {
    json["first_repeat"] = {{"step", source.first_repeat->step},
                            {"exact", source.first_repeat->is_exact}};
  }
  json["starved"] = StarvedJson(source.starved);
  json["over_repeated"] = source.is_over_repeated;
  json["skipped_tokens"] = Number(source.skipped_tokens);
  json["skipped_documents"] = Number(source.skipped_documents);
  if (!source.is_leaf) return json;
  json["left_over_tokens"] = OrNull(source.left_over_tokens);
  json["packing"] = Json();
  if (source.packing.has_value())
    json["packing"] = PackingJson(*source.packing);
  if (!source.other_packings.empty()) {
    Json& others = json["other_packings"] = Json::array();
    for (const PackingSummary& other : source.other_packings) {
      others.push_back(PackingJson(other));
    }
  }
  if (!source.fim_rates.empty()) json["fim_rates"] = source.fim_rates;
  json["location"] = source.location;
  json["stored_tokens"] = source.stored_tokens;
  json["token_bytes"] = source.token_bytes;
  json["token_bytes_known"] = source.is_width_known;
  return json;
}

// By column, which is a third of the text of rows.
Json SeriesJson(const PlannedRunSeries& series) {
  Json json;
  for (const char* key : {"step", "batch_size", "seq_len", "lr_scale", "stage",
                          "ramp", "tokens"}) {
    json[key] = Json::array();
  }
  for (const PlannedRunSeries::Point& point : series.points) {
    json["step"].push_back(point.step);
    json["batch_size"].push_back(point.batch_size);
    json["seq_len"].push_back(point.seq_len);
    json["lr_scale"].push_back(Short(point.lr_scale));
    json["stage"].push_back(point.stage);
    json["ramp"].push_back(point.is_ramp ? 1 : 0);
    json["tokens"].push_back(Number(Short(point.tokens)));
  }
  json["bands"] = Json::array();
  for (const PlannedRunSeries::Band& band : series.bands) {
    Json one;
    one["source"] = band.source;
    one["shares"] = Json::array();
    one["tokens"] = Json::array();
    for (const double share : band.shares) {
      one["shares"].push_back(Number(Short(share)));
    }
    for (const double tokens : band.tokens) {
      one["tokens"].push_back(Number(Short(tokens)));
    }
    one["epochs"] = Json::array();
    for (const double epochs : band.epochs) {
      one["epochs"].push_back(Number(Short(epochs)));
    }
    json["bands"].push_back(std::move(one));
  }
  json["others"] = series.others;
  return json;
}

}  // namespace

Json PlanJson(const PlannedRun& plan, bool with_series) {
  Json json;
  json["steps"] = plan.steps;
  json["samples"] = plan.samples;
  json["tokens"] = plan.tokens;
  json["batch_size"] = plan.batch_size;
  json["seq_len"] = plan.seq_len;
  json["max_seq_len"] = plan.max_seq_len;
  json["exact"] = plan.is_exact;
  json["cut_short"] = plan.is_cut_short;
  json["bytes"] = Number(plan.bytes);
  json["skipped_tokens"] = Number(plan.skipped_tokens);
  json["skipped_documents"] = Number(plan.skipped_documents);
  json["left_over_tokens"] = Number(plan.left_over_tokens);
  json["cut_off_tokens"] = Number(plan.cut_off_tokens);
  json["max_repeats"] = plan.max_repeats;
  json["attention"] = {
      {"longest", plan.attention.longest},
      {"same_tokens",
       {{"ratio", plan.attention.same_tokens},
        {"saved_per_token", plan.attention.saved_per_token}}},
      {"same_steps",
       {{"ratio", plan.attention.same_steps},
        {"saved_per_sample", plan.attention.saved_per_sample}}}};
  json["stages"] = Json::array();
  for (size_t i = 0; i < plan.stages.size(); ++i) {
    json["stages"].push_back(StageJson(plan, i));
  }
  if (!plan.changes.empty()) {
    json["changes"] = Json::array();
    for (const PlannedRunChange& change : plan.changes) {
      json["changes"].push_back({{"number", change.number},
                                 {"step", change.step},
                                 {"change", change.change}});
    }
  }
  json["sources"] = Json::array();
  for (const PlannedRunSource& source : plan.sources) {
    json["sources"].push_back(SourceJson(source));
  }
  json["evals"] = EvalsJson(plan);
  json["warnings"] = Warnings(plan);
  json["remarks"] = Remarks(plan);
  if (with_series) json["series"] = SeriesJson(plan.series);
  return json;
}

}  // namespace poniente::cli
