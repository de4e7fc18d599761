// SPDX-License-Identifier: Apache-2.0
#include "config/spec_writer.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/toml_text.h"
#include "config/tree/schedule_builder.h"

namespace poniente::internal {
namespace {

std::string_view FormatName(ScoreFormat format) {
  if (format == ScoreFormat::kFloat32) return "f32";
  return format == ScoreFormat::kFloat64 ? "f64" : "auto";
}

std::string_view RuleName(WeightRule rule) {
  if (rule == WeightRule::kSizeProportional) return "sizes";
  return rule == WeightRule::kScores ? "scores" : "proportions";
}

std::string_view StopName(StopRule rule) {
  if (rule == StopRule::kFirstExhausted) return "first_exhausted";
  return rule == StopRule::kAllExhausted ? "all_exhausted" : "restart";
}

class SpecWriter {
 public:
  SpecWriter(const RunSpec& run, const Schedule& schedule,
             const std::string& folder)
      : run_(run), schedule_(schedule), folder_(folder) {}

  std::string Write() {
    Keys data;
    data.Add("seed", run_.seed);
    if (schedule_.steps() > 0) data.Add("steps", schedule_.steps());
    const Stretch& first = schedule_.stretches()[0];
    data.Add("batch_size", first.batch_size);
    data.Add("seq_len", uint64_t{first.seq_len});
    if (run_.states_max_seq_len || schedule_.cuts_items()) {
      data.Add("max_seq_len", uint64_t{run_.max_seq_len});
    }
    if (run_.trim) data.Add("trim", Boolean(true));
    data.AddText("last_batch",
                 run_.loader.last_batch == LastBatch::kDrop ? "drop" : "keep");
    // The root's own seed is the run's.
    std::string text;
    WriteNode("data", Root(), NodePosition::kRoot, std::move(data), &text);
    WriteDefinitions(&text);
    WriteStages(&text);
    WriteSizes(&text);
    WriteRuntime(&text);
    return text;
  }

 private:
  // The root itself, where the stage that starts the run has its weights.
  const NodeSpec& Root() const {
    const NodeSpec& root = run_.root;
    const bool is_changed = root.filter || root.order || root.slice ||
                            root.take || root.repeat || root.shuffle;
    return is_changed ? root : Used(root);
  }

  std::string Located(const std::string& path) const {
    return (std::filesystem::path(folder_) / path).lexically_normal();
  }

  std::string Filter(const FilterSpec& filter) const {
    Keys keys;
    switch (filter.kind) {
      case FilterSpec::Kind::kScores:
        keys.AddText("scores", Located(filter.path));
        keys.Add("at_least", Float(filter.at_least));
        keys.AddText("format", FormatName(filter.format));
        break;
      case FilterSpec::Kind::kBitmap:
        keys.AddText("bitmap", Located(filter.path));
        break;
      case FilterSpec::Kind::kIndices:
        keys.AddText("indices", Located(filter.path));
        break;
      case FilterSpec::Kind::kFraction:
        keys.Add("fraction", Float(filter.fraction));
        keys.Add("seed", filter.seed);
        break;
    }
    if (filter.invert) keys.Add("invert", Boolean(true));
    return keys.Inline();
  }

  std::string Order(const ScoreOrderSpec& order) const {
    Keys keys;
    keys.AddText(order.is_table ? "table" : "scores", Located(order.path));
    if (!order.is_table) {
      keys.AddText("format", FormatName(order.format));
      keys.AddText("direction", order.direction == ScoreDirection::kDescending
                                    ? "descending"
                                    : "ascending");
    }
    if (order.bucket_items > 0) keys.Add("bucket_items", order.bucket_items);
    if (order.buckets > 0) keys.Add("buckets", order.buckets);
    return keys.Inline();
  }

  static void AddShuffle(const NodeSpec& node, NodePosition at, Keys* keys) {
    const NodeKind kind = Used(node).kind;
    const bool is_default = !node.shuffle.has_value();
    if (is_default && (at == NodePosition::kOther || kind == NodeKind::kFlat ||
                       kind == NodeKind::kMixture || node.order.has_value())) {
      return;
    }
    const ShuffleOptions shuffle =
        node.shuffle.value_or(ShuffleOptions::Full());
    switch (shuffle.kind) {
      case ShuffleKind::kNone:
      case ShuffleKind::kFull:
        keys->Add("shuffle", Boolean(shuffle.kind == ShuffleKind::kFull));
        return;
      case ShuffleKind::kEras:
        keys->Add("era_shuffle", shuffle.era_items);
        return;
      case ShuffleKind::kBlocks:
        break;
    }
    Keys blocks;
    blocks.AddIf("chunk_tokens", shuffle.blocks.chunk_tokens);
    blocks.AddIf("chunk_items", shuffle.blocks.chunk_items);
    blocks.Add("window_chunks", shuffle.blocks.window_chunks);
    keys->Add("block_shuffle", blocks.Inline());
  }

  static void AddMixture(const NodeSpec& node, Keys* keys) {
    const MixtureOptions& mixture = node.mixture;
    keys->Add("block_size", mixture.block_size);
    keys->AddText("weight_rule", RuleName(mixture.weight_rule));
    keys->Add("temperature", Float(mixture.temperature));
    keys->AddText("stop", StopName(mixture.stop_rule));
    if (mixture.group_items > 0) keys->Add("group_items", mixture.group_items);
  }

  void AddModifiers(const NodeSpec& node, NodePosition at, Keys* keys) const {
    if (node.documents) keys->Add("documents", Filter(*node.documents));
    if (node.filter) keys->Add("filter", Filter(*node.filter));
    if (node.order) keys->Add("order", Order(*node.order));
    if (node.slice) {
      keys->Add("slice", absl::StrCat("[", node.slice->begin, ", ",
                                      node.slice->end, "]"));
    }
    keys->AddIf("take", node.take);
    keys->AddIf("repeat", node.repeat);
    AddShuffle(node, at, keys);
    if (at != NodePosition::kRoot) keys->AddIf("seed", node.seed);
    if (node.loss_weight) keys->Add("loss_weight", Float(*node.loss_weight));
  }

  static void AddVocabulary(const NodeSpec& node, Keys* keys) {
    if (!node.vocabulary) return;
    keys->AddText("tokenizer", node.vocabulary->tokenizer);
    keys->Add("vocab_size", node.vocabulary->size);
  }

  static void AddFiles(const NodeSpec& node, Keys* keys) {
    const FileSpec& files = node.files;
    const auto add_text = [&](std::string_view key, std::string_view text) {
      if (!text.empty()) keys->AddText(key, text);
    };
    add_text("format", files.format);
    if (files.dtype) keys->AddText("dtype", StoredTypeName(*files.dtype));
    add_text("column", files.column);
    add_text("glob", files.glob);
    if (files.delimiter) {
      keys->Add(files.delimiter->begins ? "document_begin" : "document_end",
                files.delimiter->id);
    }
    if (files.overlap) keys->Add("overlap", *files.overlap);
    if (files.across_shards)
      keys->Add("across_shards", Boolean(*files.across_shards));
    AddVocabulary(node, keys);
  }

  void AddKind(const NodeSpec& node, Keys* keys) {
    switch (node.kind) {
      case NodeKind::kStore:
        keys->AddText("path", Located(node.path));
        AddFiles(node, keys);
        break;
      case NodeKind::kHub:
        keys->AddText("hf_name", node.hub_name);
        if (!node.hub_config.empty()) {
          keys->AddText("hf_config", node.hub_config);
        }
        keys->AddText("hf_split", node.hub_split);
        AddFiles(node, keys);
        break;
      case NodeKind::kDeclared:
        keys->Add("tokens", node.tokens);
        AddVocabulary(node, keys);
        break;
      case NodeKind::kUse:
        keys->AddText("use", node.use);
        used_.emplace(node.use, &node.children[0]);
        break;
      case NodeKind::kMixture:
        AddMixture(node, keys);
        break;
      case NodeKind::kFlat:
      case NodeKind::kConcat:
        break;
    }
  }

  // Its keys, after those already in `keys`, then the tables below it.
  void WriteNode(const std::string& path, const NodeSpec& node, NodePosition at,
                 Keys keys, std::string* text, bool is_part = false) {
    AddKind(node, &keys);
    AddModifiers(node, at, &keys);
    if (at == NodePosition::kRoot && Used(node).kind != NodeKind::kMixture &&
        node.mixture.group_items > 0) {
      keys.Add("group_items", node.mixture.group_items);
    }
    absl::StrAppend(text, text->empty() ? "" : "\n", is_part ? "[[" : "[", path,
                    is_part ? "]]\n" : "]\n", keys.Lines());
    const bool is_mixture = node.kind == NodeKind::kMixture;
    const std::string below =
        absl::StrCat(path, is_mixture                       ? ".mixture"
                           : node.kind == NodeKind::kConcat ? ".concat"
                                                            : ".flat");
    if (node.kind == NodeKind::kUse) return;  // below [data.nodes]
    for (const NodeSpec& child : node.children) {
      Keys own;
      if (node.kind == NodeKind::kConcat) {
        own.AddText("name", child.name);
        WriteNode(below, child, NodePosition::kOther, std::move(own), text,
                  true);
        continue;
      }
      if (is_mixture) {
        own.Add("weight", Float(child.weight));
        own.AddIf("max_epochs", child.max_epochs);
      }
      WriteNode(absl::StrCat(below, ".", TomlKey(child.name)), child,
                is_mixture ? NodePosition::kComponent : NodePosition::kOther,
                std::move(own), text);
    }
    for (const StageSpec& stage : node.stages) {
      WriteNestedStage(path, stage, text);
    }
  }

  // Definitions may use others.
  void WriteDefinitions(std::string* text) {
    std::map<std::string, const NodeSpec*> written;
    while (written.size() < used_.size()) {
      const auto next = std::find_if(
          used_.begin(), used_.end(),
          [&](const auto& entry) { return !written.contains(entry.first); });
      written.insert(*next);
      WriteNode(absl::StrCat("data.nodes.", TomlKey(next->first)),
                *next->second, NodePosition::kOther, Keys(), text);
    }
  }

  static void AddShares(const StageSpec& stage, Keys* keys) {
    if (!stage.name.empty()) keys->AddText("name", stage.name);
    if (!stage.weights.empty()) keys->Add("weights", Numbers(stage.weights));
    if (!stage.thresholds.empty()) {
      keys->Add("thresholds", Numbers(stage.thresholds));
    }
    if (stage.temperature) keys->Add("temperature", Float(*stage.temperature));
  }

  void WriteNestedStage(const std::string& path, const StageSpec& stage,
                        std::string* text) const {
    Keys keys;
    const bool of_tokens = stage.start.unit == RunPoint::Unit::kTokens;
    keys.Add(stage.start.unit == RunPoint::Unit::kSamples ? "start_sample"
             : of_tokens                                  ? "start_token"
                                                          : "start_step",
             absl::StrCat(stage.start.count));
    AddShares(stage, &keys);
    if (stage.ramp) keys.Add("ramp_samples", absl::StrCat(stage.ramp->count));
    if (stage.ramp_blocks > 0) {
      keys.Add("ramp_blocks", uint64_t{stage.ramp_blocks});
    }
    absl::StrAppend(text, "\n[[", path, ".stages]]\n", keys.Lines());
  }

  void WriteStages(std::string* text) const {
    for (size_t i = 0; i < run_.stages.size(); ++i) {
      const StageSpec& stage = run_.stages[i];
      const PlannedStage& planned = PlannedStageOf(schedule_, run_, i);
      Keys keys;
      if (planned.start_sample == schedule_.FirstSample(planned.start_step)) {
        keys.Add("start_step", planned.start_step);
      } else {
        keys.Add("start_sample", planned.start_sample);
      }
      AddShares(stage, &keys);
      if (planned.ramp_samples > 0) {
        keys.Add("ramp_samples", planned.ramp_samples);
        keys.Add("ramp_blocks", uint64_t{planned.ramp_blocks});
      }
      keys.Add("lr_scale", Float(stage.lr_scale));
      if (stage.lr_scale_end) {
        keys.Add("lr_scale_end", Float(*stage.lr_scale_end));
      }
      if (!stage.numbers.empty()) keys.Add("numbers", Numbers(stage.numbers));
      absl::StrAppend(text, "\n[[data.stages]]\n", keys.Lines());
    }
  }

  // Batch sizes and lengths of stages, too.
  void WriteSizes(std::string* text) const {
    const auto stretches = schedule_.stretches();
    for (size_t i = 1; i < stretches.size(); ++i) {
      Keys keys;
      keys.Add("start_step", stretches[i].first_step);
      if (stretches[i].batch_size != stretches[i - 1].batch_size) {
        Keys change = keys;
        change.Add("batch_size", stretches[i].batch_size);
        absl::StrAppend(text, "\n[[data.batch_sizes]]\n", change.Lines());
      }
      if (stretches[i].seq_len != stretches[i - 1].seq_len) {
        Keys change = keys;
        change.Add("seq_len", uint64_t{stretches[i].seq_len});
        absl::StrAppend(text, "\n[[data.seq_lens]]\n", change.Lines());
      }
    }
  }

  void WriteRuntime(std::string* text) const {
    const LoaderOptions& loader = run_.loader;
    Keys keys;
    keys.AddText("io", IoBackendName(run_.io.backend));
    keys.AddText("verify_checksums", VerifyChecksumsName(run_.io.verify));
    keys.AddIf("cache_bytes", run_.io.cache_bytes);
    if (!run_.catalogs.empty()) {
      std::vector<std::string> catalogs;
      for (const std::string& folder : run_.catalogs) {
        catalogs.push_back(Quoted(Located(folder)));
      }
      keys.Add("catalogs",
               absl::StrCat("[", absl::StrJoin(catalogs, ", "), "]"));
    }
    keys.AddText("token_type", TokenTypeName(loader.token_type));
    std::vector<std::string> tensors;
    for (const BatchTensor tensor : loader.tensors) {
      // That of loss weights follows from them.
      if (tensor == BatchTensor::kLossWeights && !loader.loss_weights.empty()) {
        continue;
      }
      tensors.push_back(Quoted(BatchTensorName(tensor)));
    }
    keys.Add("tensors", absl::StrCat("[", absl::StrJoin(tensors, ", "), "]"));
    keys.AddText("device", loader.device.type == DeviceType::kCuda
                               ? absl::StrCat("cuda:", loader.device.ordinal)
                               : "host");
    keys.Add("widen_on_device", Boolean(loader.widen_on_device));
    keys.Add("prefetch_batches", uint64_t{loader.prefetch_batches});
    keys.Add("prefetch_bytes", loader.prefetch_bytes);
    keys.Add("max_held", uint64_t{loader.max_held});
    keys.Add("report_every_steps", loader.report_every_steps);
    absl::StrAppend(text, "\n[runtime]\n", keys.Lines());
  }

  const RunSpec& run_;
  const Schedule& schedule_;
  const std::string folder_;
  std::map<std::string, const NodeSpec*> used_;
};

}  // namespace

std::string ToToml(const RunSpec& run, const Schedule& schedule,
                   const std::string& folder) {
  return SpecWriter(run, schedule, folder).Write();
}

}  // namespace poniente::internal
