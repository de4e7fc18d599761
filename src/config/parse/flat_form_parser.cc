// SPDX-License-Identifier: Apache-2.0
#include "config/parse/flat_form_parser.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "config/parse/stage_parser.h"
#include "index/max_samples.h"

namespace poniente::internal {
namespace {

constexpr std::array<std::string_view, 13> kTrainersTables = {
    "model",      "optimizer", "scheduler",      "eval",    "distributed",
    "checkpoint", "metrics",   "profiling",      "adapter", "vlm",
    "video",      "plugins",   "vision_encoder",
};

// Keys that a trainer reads and that no token depends on.
void SkipTrainersKeys(TableReader& data) {
  for (const char* key :
       {"tokenizer_path", "hf_dataset_text_field", "hf_dataset_image_field",
        "hf_dataset_prompt_field"}) {
    data.String(key);
  }
  data.Unsigned("num_workers", 0, kMaxInteger);
  data.Unsigned("hf_image_size", 0, kMaxInteger);
  data.Unsigned("prefetch_factor", 1, kMaxInteger);
  data.Bool("pin_memory");
  data.Bool("hf_streaming");
}

// All but greedy is as sharp as a mixture can be.
double ParseMixTemperature(TableReader& data) {
  constexpr double kLeast = 0x1p-10;
  const double temperature = data.Number("mix_temperature").value_or(1);
  if (temperature > 0) return std::max(temperature, kLeast);
  data.Error("mix_temperature",
             absl::StrCat("must be above 0, got ", temperature));
  return 1;
}

// What stands for all datasets.
void ApplyToAll(TableReader& data, Node* mixture) {
  const std::string pattern = data.String("file_pattern").value_or("");
  const std::string split = data.String("hf_dataset_split").value_or("");
  for (Node& dataset : mixture->children) {
    if (dataset.kind == NodeKind::kStore && dataset.files.glob.empty()) {
      dataset.files.glob = pattern;
    }
    if (dataset.kind == NodeKind::kHub && !split.empty()) {
      dataset.hub_split = split;
    }
  }
}

// The one source of a file without [[data.datasets]].
void ParseOnlyDataset(TableReader& data, Run* run) {
  Node& root = run->data;
  root.kind = NodeKind::kMixture;
  root.location = data.location();
  Node& only = root.children.emplace_back();
  only.weight = 1;
  const std::string path = data.String("dataset_path").value_or("");
  const std::string hub_name = data.String("hf_dataset_name").value_or("");
  const bool is_hub = path.empty();
  only.location = data.LocationOf(is_hub ? "hf_dataset_name" : "dataset_path");
  only.kind = is_hub ? NodeKind::kHub : NodeKind::kStore;
  only.path = path;
  only.hub_name = hub_name;
  only.hub_config = data.String("hf_dataset_config").value_or("");
  only.name = NameFromPath(is_hub ? hub_name : path);
  if (only.name.empty()) {
    data.ErrorHere("needs datasets, dataset_path or hf_dataset_name");
  } else if (!path.empty() && !hub_name.empty()) {
    data.Error("hf_dataset_name", "cannot be combined with dataset_path");
  }
}

// The weights of all components, so that each phase stands for itself.
std::map<std::string, double> AllWeights(
    const Node& mixture, const std::map<std::string, double>& stated) {
  std::map<std::string, double> all = stated;
  for (const Node& child : mixture.children) {
    all.emplace(child.name, WeightOf(child));
  }
  return all;
}

void CheckEnd(const RunStage& stage, const Run& run, ErrorList* errors) {
  if (run.steps != 0 && stage.start.count >= static_cast<int64_t>(run.steps)) {
    errors->Add(stage.location,
                absl::StrCat("starts at step ", stage.start.count,
                             ", but the run ends after step ", run.steps - 1));
  }
}

void ParsePhases(TableReader& data, const toml::array& phases, Run* run) {
  const Node& mixture = run->data;
  int64_t least = 0;
  for (size_t i = 0; i < phases.size(); ++i) {
    const toml::table& table = *phases.get(i)->as_table();
    TableReader phase(
        table,
        LocationOfNode(table, data.location(), absl::StrCat("phases[", i, "]")),
        data.errors(), {KeyTable::kPhase});
    RunStage& stage = run->stages.emplace_back();
    stage.location = phase.location();
    if (i > 0 && !phase.Has("start_step")) {
      phase.ErrorHere(absl::StrCat(
          "needs start_step: only the first phase may leave it out; start_step "
          "= ",
          least, " begins one step after the start of the phase before it"));
    }
    const auto start = static_cast<int64_t>(
        phase.Unsigned("start_step", 0, kMaxSamples).value_or(least));
    if (start < least) {
      phase.Error(
          "start_step",
          absl::StrCat("must be at least ", least,
                       ", to come after the phase before it, got ", start));
    }
    stage.start = RunPoint::Step(start);
    least = std::max(least, start + 1);
    stage.lr_scale = phase.Number("lr_scale").value_or(1);
    if (!(std::isfinite(stage.lr_scale) && stage.lr_scale > 0)) {
      phase.Error("lr_scale", absl::StrCat("must be finite and above 0, got ",
                                           stage.lr_scale));
    }
    stage.weights = ParseWeights(phase, "dataset_weights", mixture);
    CheckSomeWeight(mixture, stage.weights, phase.LocationOf("dataset_weights"),
                    data.errors());
    stage.weights = AllWeights(mixture, stage.weights);
    CheckEnd(stage, *run, data.errors());
    phase.Finish();
  }
}

void ParseAnneal(TableReader& data, Run* run,
                 std::vector<std::string>* warnings) {
  const uint64_t start =
      data.Unsigned("anneal_start_step", 0, kMaxSamples).value_or(0);
  RunStage stage;
  stage.location = data.LocationOf("anneal_start_step");
  stage.start = RunPoint::Step(static_cast<int64_t>(start));
  stage.weights = ParseWeights(data, "anneal_weights", run->data);
  CheckSomeWeight(run->data, stage.weights, data.LocationOf("anneal_weights"),
                  data.errors());
  if (start == 0) {
    if (data.Has("anneal_weights")) {
      warnings->push_back(
          absl::StrCat(ToString(data.LocationOf("anneal_weights")),
                       " are never used: anneal_start_step is 0"));
    }
    return;
  }
  stage.weights = AllWeights(run->data, stage.weights);
  CheckEnd(stage, *run, data.errors());
  run->stages.push_back(std::move(stage));
}

// Beside phases. Files that state all defaults have both keys.
void RefuseAnneal(TableReader& data) {
  constexpr std::string_view kWhy =
      "cannot be combined with phases: state one of the two forms";
  const auto start = data.Unsigned("anneal_start_step", 0, kMaxSamples);
  if (start.value_or(0) != 0) data.Error("anneal_start_step", kWhy);
  const toml::table* const weights = data.Table("anneal_weights");
  if (weights != nullptr && !weights->empty()) {
    data.Error("anneal_weights", kWhy);
  }
}

// Those of a phase that starts the run hold from its first sample.
void AdoptFirstPhase(Run* run) {
  if (run->stages.empty() || run->stages[0].start.count != 0) return;
  for (Node& child : run->data.children) {
    child.weight = run->stages[0].weights.at(child.name);
  }
  run->stages[0].weights.clear();
}

uint64_t DataParallelRanks(const toml::table& root, bool* is_known) {
  uint64_t ranks = 1;
  for (const char* key : {"dp_shard", "dp_replicate"}) {
    const auto stated = root["distributed"][key];
    const int64_t usual = key == std::string_view("dp_replicate") ? 1 : -1;
    // Exact: value() would cast a float of any size.
    const int64_t value =
        stated ? stated.value_exact<int64_t>().value_or(-1) : usual;
    if (value > 0 && value <= 1'000'000) {
      ranks *= static_cast<uint64_t>(value);
    } else {
      *is_known = false;
    }
  }
  return ranks;
}

}  // namespace

bool IsFlatForm(TableReader& data) {
  for (const char* key : {"datasets", "dataset_path", "hf_dataset_name"}) {
    if (data.Has(key)) return true;
  }
  // Its other keys, without any source.
  for (const char* key :
       {"path", "hf_name", "tokens", "flat", "mixture", "concat", "use"}) {
    if (data.Has(key)) return false;
  }
  return data.Has("phases") || data.Has("anneal_start_step") ||
         data.Has("mix_temperature");
}

void ParseTrainer(const toml::table& root, TableReader& top, Run* run,
                  std::vector<std::string>* warnings) {
  for (const auto& [key, node] : root) {
    const std::string_view name = key.str();
    const bool is_known =
        name == "data" || name == "runtime" || name == "train" ||
        std::find(kTrainersTables.begin(), kTrainersTables.end(), name) !=
            kTrainersTables.end();
    if (is_known) continue;
    warnings->push_back(
        absl::StrCat(ToString(top.LocationOf(name)), " is ignored"));
  }
  const toml::table* const table = top.Table("train");
  if (table == nullptr) return;
  TableReader train(*table, top.LocationOf("train"), top.errors());
  if (const auto seed = train.Unsigned("seed", 0, kMaxInteger)) {
    run->seed = *seed;
  }
  run->steps = train.Unsigned("max_steps", 1, kMaxSamples).value_or(0);
  run->seq_len = static_cast<uint32_t>(
      train.Unsigned("seq_len", 1, UINT32_MAX - 1).value_or(0));
  const uint64_t per_device =
      train.Unsigned("batch_size", 1, 1'000'000'000).value_or(0);
  const uint64_t accumulated =
      train.Unsigned("grad_accum_steps", 1, 1'000'000'000).value_or(1);
  const bool is_stated = root["data"]["batch_size"].node() != nullptr;
  if (per_device == 0 || is_stated) return;
  bool is_known = true;
  const uint64_t ranks = DataParallelRanks(root, &is_known);
  const double whole = static_cast<double>(per_device) *
                       static_cast<double>(accumulated) *
                       static_cast<double>(ranks);
  if (whole > 0x1p32) {
    train.Error("batch_size",
                absl::StrCat("makes steps of ", whole, " samples, above 2^32"));
    return;
  }
  run->batch_size = per_device * accumulated * ranks;
  if (is_known) return;
  warnings->push_back(
      absl::StrCat(ToString(train.LocationOf("batch_size")), " = ", per_device,
                   " is per device, and the number of devices is not stated: a "
                   "step is assumed to have ",
                   run->batch_size, " samples; state data.batch_size"));
}

void ParseFlatForm(TableReader& data, NodeParser* nodes, Run* run,
                   std::vector<std::string>* warnings) {
  for (const char* key : {"path", "hf_name", "tokens", "flat", "mixture",
                          "concat", "use", "stages"}) {
    if (data.Has(key)) {
      data.Error(key,
                 "cannot be combined with datasets: state the sources in one "
                 "of the two forms");
    }
  }
  SkipTrainersKeys(data);
  const toml::array* const datasets = data.Tables("datasets");
  if (datasets != nullptr && !datasets->empty()) {
    // As in the form's own reader, datasets win.
    for (const char* key :
         {"dataset_path", "hf_dataset_name", "hf_dataset_config"}) {
      data.String(key);
    }
    nodes->ParseDatasets(data, *datasets, &run->data);
  } else {
    ParseOnlyDataset(data, run);
  }
  ApplyToAll(data, &run->data);
  run->data.kind = NodeKind::kMixture;
  run->data.mixture.temperature = ParseMixTemperature(data);
  run->data.mixture.block_size = data.Unsigned("block_size", 1, 65536)
                                     .value_or(run->data.mixture.block_size);
  const toml::array* const phases = data.Tables("phases");
  const bool has_phases = phases != nullptr && !phases->empty();
  if (has_phases) ParsePhases(data, *phases, run);
  if (has_phases) {
    RefuseAnneal(data);
  } else {
    ParseAnneal(data, run, warnings);
  }
  AdoptFirstPhase(run);
  if (data.Bool("pack_sequences") == true) {
    NodePacking packing;
    packing.location = data.LocationOf("pack_sequences");
    run->data.pack_documents = std::move(packing);
  }
}

}  // namespace poniente::internal
