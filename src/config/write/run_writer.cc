// SPDX-License-Identifier: Apache-2.0
#include "config/write/run_writer.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/run_nodes.h"
#include "config/write/eval_writer.h"
#include "config/write/node_options_writer.h"
#include "config/write/runtime_writer.h"
#include "config/write/stage_writer.h"
#include "config/write/toml_text.h"
#include "index/max_samples.h"

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

// What a declared source may have; the greatest number for an endless dataset.
uint64_t DeclaredTokens(const Run& run, const DatasetNode* dataset) {
  if (dataset == nullptr) return 1;
  return std::clamp(TokensOfDataset(run, *dataset).value_or(kMaxSamples),
                    uint64_t{1}, kMaxSamples);
}

bool HasUse(const Node& node) {
  return node.kind == NodeKind::kUse ||
         std::any_of(node.children.begin(), node.children.end(), HasUse);
}

class RunWriter {
 public:
  // `schedule`: null to write what is stated, as it is.
  RunWriter(const Run& run, const Schedule* schedule)
      : run_(run), schedule_(schedule) {}

  std::string Write() {
    Keys data;
    if (schedule_ != nullptr) {
      AddResolvedSizes(&data);
    } else {
      AddStatedSizes(&data);
    }
    if (run_.trim) data.Add("trim", Boolean(true));
    if (run_.sample_overlap > 0) {
      data.Add("sample_overlap", uint64_t{run_.sample_overlap});
    }
    if (!run_.journal.empty()) data.AddText("journal", Located(run_.journal));
    if (run_.budget) data.Add("budget", Budget(*run_.budget));
    if (is_resolved() || run_.loader.last_batch == LastBatch::kDrop) {
      data.AddText("last_batch", run_.loader.last_batch == LastBatch::kDrop
                                     ? "drop"
                                     : "keep");
    }
    std::string text;
    WriteNode("data", run_.data, NodePosition::kRoot, std::move(data), &text);
    for (const RunEval& eval : run_.evals) WriteEval(eval, &text);
    WriteDefinitions(&text);
    absl::StrAppend(&text, is_resolved() ? ResolvedStages(run_, *schedule_)
                                         : StatedStages(run_));
    WriteRuntime(&text);
    return text;
  }

  // The tables of an evaluation, in one line.
  std::string WriteOnly(const RunEval& eval) {
    std::string text;
    WriteEval(eval, &text);
    WriteDefinitions(&text);
    std::string line;
    for (const char c : text) {
      if (c != '\n') {
        line += c;
      } else if (!line.empty() && !line.ends_with(", ") &&
                 !line.ends_with("] ")) {
        line += line.ends_with(']') ? " " : ", ";
      }
    }
    while (line.ends_with(' ') || line.ends_with(',')) line.pop_back();
    return line;
  }

  std::map<std::string, std::string> Options(const Node& node) const {
    Keys keys;
    keys.AddIf("max_epochs", node.max_epochs);
    AddMixture(node, &keys);
    AddModifiers(node, NodePosition::kOther, &keys);
    return {keys.pairs().begin(), keys.pairs().end()};
  }

  // A node, and everything below it, in an inline table.
  std::string WriteInline(const Node& node, NodePosition at, Keys keys) {
    AddOwn(node, at, &keys);
    const bool is_mixture = node.kind == NodeKind::kMixture;
    Keys named;
    std::vector<std::string> parts;
    for (const Node& child : node.children) {
      Keys own;
      if (node.kind == NodeKind::kConcat) {
        if (!child.name.empty()) own.AddText("name", child.name);
        parts.push_back(
            WriteInline(child, NodePosition::kOther, std::move(own)));
      } else {
        named.Add(child.name, WriteInline(child,
                                          is_mixture ? NodePosition::kComponent
                                                     : NodePosition::kOther,
                                          Keys()));
      }
    }
    const auto list = [](const std::vector<std::string>& tables) {
      return absl::StrCat("[", absl::StrJoin(tables, ", "), "]");
    };
    if (!parts.empty()) keys.Add("concat", list(parts));
    if (!named.empty())
      keys.Add(is_mixture ? "mixture" : "flat", named.Inline());
    std::vector<std::string> stages;
    for (const RunStage& stage : node.stages) {
      stages.push_back(InlineStage(stage));
    }
    if (!stages.empty()) keys.Add("stages", list(stages));
    return keys.Inline();
  }

 private:
  bool is_resolved() const { return schedule_ != nullptr; }

  void AddResolvedSizes(Keys* data) const {
    data->Add("seed", run_.seed);
    if (schedule_->steps() > 0) data->Add("steps", schedule_->steps());
    const Stretch& first = schedule_->stretches()[0];
    data->Add("batch_size", first.batch_size);
    data->Add("seq_len", uint64_t{first.seq_len});
    if (run_.max_seq_len > 0 || schedule_->cuts_items()) {
      data->Add("max_seq_len", uint64_t{WindowTokens(run_)});
    }
  }

  void AddStatedSizes(Keys* data) const {
    if (run_.seed != 0) data->Add("seed", run_.seed);
    if (run_.steps != 0) data->Add("steps", run_.steps);
    if (run_.total_tokens != 0) data->Add("total_tokens", run_.total_tokens);
    if (run_.batch_size != 0) data->Add("batch_size", run_.batch_size);
    if (run_.seq_len != 0) data->Add("seq_len", uint64_t{run_.seq_len});
    if (run_.max_seq_len != 0) {
      data->Add("max_seq_len", uint64_t{run_.max_seq_len});
    }
    if (run_.shares_of != ShareOf::kUnstated) {
      data->AddText("shares_of",
                    run_.shares_of == ShareOf::kTokens ? "tokens" : "steps");
    }
  }

  std::string Located(const std::string& path) const {
    if (!is_resolved() || path.empty()) return path;
    return (std::filesystem::path(run_.folder) / path).lexically_normal();
  }

  void AddFormat(ScoreFormat format, Keys* keys) const {
    if (is_resolved() || format != ScoreFormat::kAuto) {
      keys->AddText("format", FormatName(format));
    }
  }

  std::string Filter(const NodeFilter& filter) const {
    Keys keys;
    switch (filter.kind) {
      case NodeFilter::Kind::kScores:
        keys.AddText("scores", Located(filter.path));
        keys.Add("at_least", Threshold(filter.at_least));
        AddFormat(filter.format, &keys);
        break;
      case NodeFilter::Kind::kBitmap:
        keys.AddText("bitmap", Located(filter.path));
        break;
      case NodeFilter::Kind::kIndices:
        keys.AddText("indices", Located(filter.path));
        break;
      case NodeFilter::Kind::kFraction:
        keys.Add("fraction", Float(filter.fraction));
        if (is_resolved() || filter.seed != 0) keys.Add("seed", filter.seed);
        break;
    }
    if (filter.invert) keys.Add("invert", Boolean(true));
    return keys.Inline();
  }

  std::string Budget(const RunBudget& budget) const {
    Keys keys;
    keys.Add("experiment", budget.experiment);
    keys.Add("target", budget.target);
    if (is_resolved() || budget.seed != 0) keys.Add("seed", budget.seed);
    return keys.Inline();
  }

  std::string Order(const NodeOrder& order) const {
    Keys keys;
    keys.AddText(order.is_table ? "table" : "scores", Located(order.path));
    const bool descends = order.direction == ScoreDirection::kDescending;
    if (!order.is_table || order.format != ScoreFormat::kAuto) {
      AddFormat(order.format, &keys);
    }
    if (descends || (is_resolved() && !order.is_table)) {
      keys.AddText("direction", descends ? "descending" : "ascending");
    }
    if (order.bucket_items > 0) keys.Add("bucket_items", order.bucket_items);
    if (order.buckets > 0) keys.Add("buckets", order.buckets);
    return keys.Inline();
  }

  void AddShuffle(const Node& node, NodePosition at, Keys* keys) const {
    const NodeKind kind = Used(node).kind;
    const bool is_default = !node.shuffle.has_value();
    if (is_default &&
        (!is_resolved() || at == NodePosition::kOther ||
         kind == NodeKind::kFlat || kind == NodeKind::kMixture ||
         node.order.has_value() || node.order_documents.has_value())) {
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

  // Settings of a mixture. Where they are stated for another node, a parser
  // says so.
  void AddMixture(const Node& node, Keys* keys) const {
    const NodeMixture& mixture = node.mixture;
    const NodeMixture usual;
    const bool all = is_resolved() && node.kind == NodeKind::kMixture;
    if (all || mixture.block_size != usual.block_size) {
      keys->Add("block_size", mixture.block_size);
    }
    if (all || mixture.weight_rule != usual.weight_rule) {
      keys->AddText("weight_rule", RuleName(mixture.weight_rule));
    }
    if (all || mixture.temperature != usual.temperature) {
      keys->Add("temperature", Float(mixture.temperature));
    }
    if (all || mixture.stop_rule != usual.stop_rule) {
      keys->AddText("stop", StopName(mixture.stop_rule));
    }
    if (mixture.weights_sum) {
      keys->Add("weights_sum", Float(*mixture.weights_sum));
    }
    if (mixture.group_items > 0) keys->Add("group_items", mixture.group_items);
  }

  void AddModifiers(const Node& node, NodePosition at, Keys* keys) const {
    if (node.pack_documents) {
      keys->Add("pack_documents",
                PackingText(*node.pack_documents, is_resolved(),
                            Located(node.pack_documents->options.index_file)));
    }
    if (node.fill_in_the_middle) {
      keys->Add("fill_in_the_middle",
                InfillingText(*node.fill_in_the_middle, is_resolved()));
    }
    if (node.hold_out) {
      keys->Add("hold_out", HoldOutText(*node.hold_out, is_resolved()));
    }
    if (node.documents) keys->Add("documents", Filter(*node.documents));
    if (node.order_documents) {
      keys->Add("order_documents", Order(*node.order_documents));
    }
    if (node.filter) keys->Add("filter", Filter(*node.filter));
    if (node.order) keys->Add("order", Order(*node.order));
    if (node.slice) {
      keys->Add("slice", absl::StrCat("[", Integer(node.slice->begin), ", ",
                                      Integer(node.slice->end), "]"));
    }
    keys->AddIf("take", node.take);
    keys->AddIf("repeat", node.repeat);
    AddShuffle(node, at, keys);
    keys->AddIf("seed", node.seed);
    if (node.loss_weight) keys->Add("loss_weight", Float(*node.loss_weight));
  }

  static void AddVocabulary(const Node& node, Keys* keys) {
    if (!node.vocabulary) return;
    keys->AddText("tokenizer", node.vocabulary->tokenizer);
    keys->Add("vocab_size", node.vocabulary->size);
  }

  std::string LossMask(const LossMaskFiles& mask) const {
    Keys keys;
    if (!mask.path.empty()) keys.AddText("path", Located(mask.path));
    if (!mask.glob.empty()) keys.AddText("glob", mask.glob);
    if (!mask.column.empty()) keys.AddText("column", mask.column);
    if (mask.no_loss) keys.Add("no_loss", absl::StrCat(*mask.no_loss));
    if (mask.loss) keys.Add("loss", absl::StrCat(*mask.loss));
    return keys.Inline();
  }

  void AddFiles(const Node& node, Keys* keys) const {
    const SourceFiles& files = node.files;
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
    if (files.loss_mask) keys->Add("loss_mask", LossMask(*files.loss_mask));
    if (files.overlap) keys->Add("overlap", *files.overlap);
    if (files.across_shards)
      keys->Add("across_shards", Boolean(*files.across_shards));
    if (files.growing) keys->Add("growing", Boolean(true));
    AddVocabulary(node, keys);
  }

  void AddKind(const Node& node, Keys* keys) {
    switch (node.kind) {
      case NodeKind::kStore:
        keys->AddText("path", Located(node.path));
        break;
      case NodeKind::kHub:
        keys->AddText("hf_name", node.hub_name);
        if (!node.hub_config.empty()) {
          keys->AddText("hf_config", node.hub_config);
        }
        if (is_resolved() || node.hub_split != "train") {
          keys->AddText("hf_split", node.hub_split);
        }
        break;
      case NodeKind::kDeclared:
        keys->Add("tokens", node.tokens);
        break;
      case NodeKind::kDataset:
        keys->Add("tokens", DeclaredTokens(run_, node.dataset.get()));
        break;
      case NodeKind::kUse:
        keys->AddText("use", DefinitionOf(node));
        break;
      case NodeKind::kMixture:
      case NodeKind::kFlat:
      case NodeKind::kConcat:
        break;
    }
    AddFiles(node, keys);
    AddMixture(node, keys);
  }

  // The name of the definition that the node uses. Nodes of one name may
  // differ: a stage that starts the run sets the first threshold of one
  // component, and programs may use what names they like.
  std::string DefinitionOf(const Node& user) {
    const Node& used = user.children[0];
    for (int number = 1;; ++number) {
      std::string name =
          number == 1 ? user.use : absl::StrCat(user.use, "-", number);
      const auto [definition, is_new] = used_.emplace(std::move(name), &used);
      if (is_new || *definition->second == used) return definition->first;
    }
  }

  // What a node states itself.
  void AddOwn(const Node& node, NodePosition at, Keys* keys) {
    if (node.weight.has_value()) keys->Add("weight", Float(*node.weight));
    keys->AddIf("max_epochs", node.max_epochs);
    AddKind(node, keys);
    AddModifiers(node, at, keys);
  }

  // Its keys, after those already in `keys`, then the tables below it.
  void WriteNode(const std::string& path, const Node& node, NodePosition at,
                 Keys keys, std::string* text, bool is_part = false) {
    AddOwn(node, at, &keys);
    absl::StrAppend(text, text->empty() ? "" : "\n", is_part ? "[[" : "[", path,
                    is_part ? "]]\n" : "]\n", keys.Lines());
    const bool is_mixture = node.kind == NodeKind::kMixture;
    const std::string below =
        absl::StrCat(path, is_mixture                       ? ".mixture"
                           : node.kind == NodeKind::kConcat ? ".concat"
                                                            : ".flat");
    if (node.kind == NodeKind::kUse) return;  // below [data.nodes]
    for (const Node& child : node.children) {
      if (node.kind == NodeKind::kConcat) {
        Keys own;
        if (!child.name.empty()) own.AddText("name", child.name);
        WriteNode(below, child, NodePosition::kOther, std::move(own), text,
                  true);
        continue;
      }
      WriteNode(absl::StrCat(below, ".", TomlKey(child.name)), child,
                is_mixture ? NodePosition::kComponent : NodePosition::kOther,
                Keys(), text);
    }
    for (const RunStage& stage : node.stages) {
      absl::StrAppend(text, NestedStage(path, run_, schedule_, stage));
    }
  }

  void WriteEval(const RunEval& eval, std::string* text) {
    const std::string path = absl::StrCat("data.eval.", TomlKey(eval.name));
    Keys keys = EvalKeys(eval, is_resolved() ? &run_ : nullptr);
    if (!eval.held_out.has_value()) {
      WriteNode(path, eval.data, NodePosition::kOther, std::move(keys), text);
    } else {
      absl::StrAppend(text, "\n[", path, "]\n", keys.Lines());
    }
  }

  // Definitions may use others.
  void WriteDefinitions(std::string* text) {
    std::map<std::string, const Node*> written;
    while (written.size() < used_.size()) {
      const auto next = std::find_if(
          used_.begin(), used_.end(),
          [&](const auto& entry) { return !written.contains(entry.first); });
      written.insert(*next);
      WriteNode(absl::StrCat("data.nodes.", TomlKey(next->first)),
                *next->second, NodePosition::kOther, Keys(), text);
    }
  }

  void WriteRuntime(std::string* text) const {
    std::vector<std::string> catalogs;
    for (const std::string& folder : run_.catalogs) {
      catalogs.push_back(Located(folder));
    }
    const Keys keys = RuntimeKeys(run_, catalogs, is_resolved());
    if (!keys.empty()) {
      absl::StrAppend(text, "\n[runtime]\n", keys.Lines());
    }
  }

  const Run& run_;
  const Schedule* const schedule_;
  std::map<std::string, const Node*> used_;
};

}  // namespace

std::string ToResolvedToml(const Run& run, const Schedule& schedule) {
  return RunWriter(run, &schedule).Write();
}

std::string ToStatedToml(const Run& run) {
  return RunWriter(run, nullptr).Write();
}

absl::StatusOr<std::string> InlineText(const Node& component) {
  if (HasUse(component)) {
    return absl::InvalidArgumentError(
        "a component that is added cannot use nodes by name: state them in "
        "place of Use()");
  }
  const Run run;
  return RunWriter(run, nullptr)
      .WriteInline(component, NodePosition::kComponent, Keys());
}

std::map<std::string, std::string> OptionTexts(const Node& node) {
  return RunWriter(Run(), nullptr).Options(node);
}

std::string EvalText(const RunEval& eval) {
  return RunWriter(Run(), nullptr).WriteOnly(eval);
}

}  // namespace poniente::internal
