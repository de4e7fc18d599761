// SPDX-License-Identifier: Apache-2.0
#include "config/run_checks.h"

#include <cstdint>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "config/run_nodes.h"
#include "config/write/toml_text.h"
#include "util/one_line.h"
#include "util/utf8.h"

namespace poniente::internal {
namespace {

// Each node adds two parts to a key of TOML, and the parser takes at most 100.
constexpr size_t kDeepestNode = 48;

const char* KindName(NodeKind kind) {
  switch (kind) {
    case NodeKind::kStore:
      return "a source";
    case NodeKind::kHub:
      return "a source of the hub";
    case NodeKind::kDeclared:
      return "a number of tokens";
    case NodeKind::kFlat:
      return "flat";
    case NodeKind::kMixture:
      return "a mixture";
    case NodeKind::kConcat:
      return "a concat";
    case NodeKind::kUse:
      return "a use of another node";
    case NodeKind::kDataset:
      return "a dataset of the program";
  }
  return "no kind of node";
}

class MistakeFinder {
 public:
  explicit MistakeFinder(const Run& run) : run_(run) {}

  RunMistakes Find() {
    ForEachNode(run_,
                [this](const std::string& key, const Node& node, size_t depth) {
                  key_ = key;
                  CheckEnums(node);
                  CheckText(node);
                  CheckChildren(node, depth);
                  if (!node.mistake.empty()) Lost(node.mistake);
                  CheckFields(node);
                });
    for (const RunEval& eval : run_.evals) {
      key_ = absl::StrCat("data.eval.", TomlKey(eval.name));
      CheckHeight(eval.data);
    }
    key_ = "data";
    CheckHeight(run_.data);
    CheckRoot();
    CheckRun();
    return std::move(mistakes_);
  }

 private:
  // A node that several others use is visited below each, under one key.
  void Add(std::string line, std::vector<std::string>* lines) {
    if (seen_.insert(line).second) lines->push_back(std::move(line));
  }
  template <class... Parts>
  void Fatal(const Parts&... parts) {
    Add(absl::StrCat(key_, " ", parts...), &mistakes_.unwritable);
  }
  template <class... Parts>
  void Lost(const Parts&... parts) {
    Add(absl::StrCat(key_, " ", parts...), &mistakes_.unwritten);
  }
  template <class Enum>
  void CheckEnum(const char* what, Enum value, Enum last) {
    if (static_cast<uint64_t>(value) <= static_cast<uint64_t>(last)) return;
    Fatal("has ", what, " ", static_cast<int64_t>(value),
          ", which no enumerator has");
  }

  void CheckFilter(const std::optional<NodeFilter>& filter) {
    if (!filter.has_value()) return;
    CheckEnum("NodeFilter::Kind", filter->kind, NodeFilter::Kind::kFraction);
    CheckEnum("ScoreFormat", filter->format, ScoreFormat::kFloat64);
    CheckThreshold(filter->at_least);
    CheckString(filter->path);
    const bool is_scores = filter->kind == NodeFilter::Kind::kScores;
    const bool is_fraction = filter->kind == NodeFilter::Kind::kFraction;
    if (is_fraction && !filter->path.empty()) {
      Lost("has a filter by a fraction, and states a path for it");
    }
    if (!is_fraction && (filter->fraction != 0 || filter->seed != 0)) {
      Lost("has a filter by a file, and states a fraction or a seed for it");
    }
    if (!is_scores && (filter->at_least != ScoreThreshold() ||
                       filter->format != ScoreFormat::kAuto)) {
      Lost("has a filter without scores, and states at_least or format for it");
    }
  }

  void CheckOrder(const std::optional<NodeOrder>& order) {
    if (!order.has_value()) return;
    CheckEnum("ScoreFormat", order->format, ScoreFormat::kFloat64);
    CheckEnum("ScoreDirection", order->direction, ScoreDirection::kDescending);
    CheckString(order->path);
  }

  void CheckThreshold(const ScoreThreshold& threshold) {
    CheckEnum("ScoreThreshold::Unit", threshold.unit,
              ScoreThreshold::Unit::kSigmas);
  }

  void CheckEnums(const Node& node) {
    CheckEnum("NodeKind", node.kind, NodeKind::kDataset);
    CheckEnum("WeightRule", node.mixture.weight_rule, WeightRule::kScores);
    CheckEnum("StopRule", node.mixture.stop_rule, StopRule::kAllExhausted);
    if (node.files.dtype.has_value()) {
      CheckEnum("StoredType", *node.files.dtype, StoredType::kI64);
    }
    if (node.shuffle.has_value()) {
      CheckEnum("ShuffleKind", node.shuffle->kind, ShuffleKind::kBlocks);
      if (node.shuffle->kind != ShuffleKind::kEras &&
          node.shuffle->era_items != 0) {
        Lost("states era_items for a shuffle that is not by eras");
      }
    }
    if (node.pack_documents.has_value()) {
      const PackingOptions& options = node.pack_documents->options;
      CheckEnum("LongDocuments", options.long_documents,
                LongDocuments::kRefuse);
      CheckEnum("EndOfDocument", options.end_of_document, EndOfDocument::kDrop);
      CheckString(options.index_file);
      if (!node.pack_documents->is_packed && options != PackingOptions()) {
        Lost("states how documents are packed, and that they are not");
      }
      if (options.chunk_documents == 0 &&
          options.shuffle_chunks != PackingOptions().shuffle_chunks) {
        Lost("states shuffle_chunks, but no chunk_documents");
      }
    }
    if (node.fill_in_the_middle.has_value()) {
      const InfillingOptions& options = node.fill_in_the_middle->options;
      CheckEnum("InfilledPieces", options.pieces, InfilledPieces::kWhole);
      if (!node.fill_in_the_middle->is_infilled &&
          options != InfillingOptions()) {
        Lost(
            "states how documents are filled in the middle, and that they "
            "are not");
      }
    }
    if (node.hold_out.has_value() && node.hold_out->documents != 0 &&
        node.hold_out->windows != 0) {
      Lost("holds out documents and windows: state one of them");
    }
    CheckFilter(node.documents);
    CheckFilter(node.filter);
    CheckOrder(node.order_documents);
    CheckOrder(node.order);
  }

  void CheckString(std::string_view text) {
    if (!IsUtf8(text)) {
      Fatal("has a name or a path that is not UTF-8: ", Quoted(text));
    }
    if (text.find('\0') != std::string_view::npos) {
      Fatal("has a name or a path with a zero byte: ", Quoted(text));
    }
  }

  void CheckText(const Node& node) {
    for (const std::string* const text :
         {&node.name, &node.path, &node.hub_name, &node.hub_config,
          &node.hub_split, &node.use, &node.files.format, &node.files.column,
          &node.files.glob}) {
      CheckString(*text);
    }
    if (node.files.loss_mask.has_value()) {
      CheckString(node.files.loss_mask->path);
      CheckString(node.files.loss_mask->glob);
      CheckString(node.files.loss_mask->column);
    }
    if (node.vocabulary.has_value()) CheckString(node.vocabulary->tokenizer);
    for (const RunStage& stage : node.stages) CheckStage(stage);
  }

  void CheckStage(const RunStage& stage) {
    CheckString(stage.name);
    for (const auto* const numbers :
         {&stage.weights, &stage.fim_rates, &stage.numbers}) {
      for (const auto& entry : *numbers) CheckString(entry.first);
    }
    for (const auto& [name, threshold] : stage.thresholds) {
      CheckString(name);
      CheckThreshold(threshold);
    }
    CheckPoint(stage.start);
    if (stage.ramp.has_value()) CheckPoint(*stage.ramp);
  }

  void CheckPoint(const RunPoint& point) {
    CheckEnum("RunPoint::Unit", point.unit, RunPoint::Unit::kShareOfTokens);
    if (point.unit == RunPoint::Unit::kShareOfTokens &&
        run_.shares_of != ShareOf::kTokens) {
      Fatal(
          "has a share of the run's tokens, but Run::shares_of is not "
          "ShareOf::kTokens");
    }
  }

  void CheckHeight(const Node& tree) {
    if (IsDeeperThan(tree, kDeepestTree)) {
      Fatal("is nested deeper than ", kDeepestTree,
            " nodes, with those that are used");
    }
  }

  void CheckChildren(const Node& node, size_t depth) {
    if (depth > kDeepestNode) {
      key_ = key_.substr(0, 60) + "...";
      Fatal("is nested deeper than ", kDeepestNode, " nodes");
    }
    if (IsTooLarge(node)) return Fatal(node.mistake);
    const size_t count = node.children.size();
    switch (node.kind) {
      case NodeKind::kUse:
        if (count != 1) {
          Fatal("uses a node, but has ", count,
                " children: make it with Use()");
        }
        break;
      case NodeKind::kFlat:
      case NodeKind::kMixture:
      case NodeKind::kConcat:
        if (count == 0) {
          Fatal("is ", KindName(node.kind), " of nothing: it needs a child");
        }
        break;
      default:
        if (count > 0) {
          Fatal("has children, but is ", KindName(node.kind));
        }
    }
    if (node.kind == NodeKind::kConcat) return;
    std::set<std::string_view> names;
    for (const Node& child : node.children) {
      if (!names.insert(child.name).second) {
        Fatal("has two children named '", OneLine(child.name), "'");
      }
    }
  }

  void CheckFields(const Node& node) {
    const auto only = [&](bool is_stated, NodeKind kind, const char* what) {
      if (is_stated && node.kind != kind) {
        Lost("states ", what, ", but is ", KindName(node.kind));
      }
    };
    only(!node.path.empty(), NodeKind::kStore, "a path");
    only(!node.hub_name.empty() || !node.hub_config.empty(), NodeKind::kHub,
         "a dataset of the hub");
    only(node.tokens != 0, NodeKind::kDeclared, "a number of tokens");
    only(!node.use.empty(), NodeKind::kUse, "the name of a node to use");
    only(node.dataset != nullptr, NodeKind::kDataset, "a dataset");
    if (node.kind != NodeKind::kDataset) return;
    if (node.dataset == nullptr) {
      Lost("is a dataset of the program, but null");
    }
    if (node.vocabulary.has_value()) {
      Lost(
          "states a tokenizer, but is a dataset of the program, which says "
          "itself what its vocabulary() is");
    }
  }

  void CheckRoot() {
    const Node& root = run_.data;
    if (root == Node()) Fatal("is missing: Run::data says what to read");
    // The keys of the root are those of the run, too.
    if (root.seed.has_value()) {
      Fatal("states a seed, but is the root: state Run::seed");
    }
    if (!root.stages.empty()) {
      Fatal("states stages, but is the root: state Run::stages");
    }
    for (const RunStage& stage : run_.stages) CheckStage(stage);
    for (const BatchSizeStage& change : run_.batch_sizes) {
      CheckPoint(change.start);
    }
    for (const SeqLenStage& change : run_.seq_lens) CheckPoint(change.start);
  }

  void CheckEvals() {
    std::set<std::string_view> names;
    for (const RunEval& eval : run_.evals) {
      key_ = absl::StrCat("data.eval.", TomlKey(eval.name));
      CheckString(eval.name);
      if (!names.insert(eval.name).second) Fatal("has the name of another");
      if (eval.held_out.has_value()) {
        for (const std::string& path : *eval.held_out) CheckString(path);
        if (eval.data != Node()) Lost("states data and held_out");
      } else if (eval.data == Node()) {
        Fatal("says nothing to read: state data or held_out");
      }
      if (!eval.data.stages.empty()) {
        Lost("has stages, but an evaluation has none");
      }
    }
  }

  void CheckRun() {
    CheckEvals();
    key_ = "data.journal";
    CheckString(run_.journal);
    key_ = "run";
    CheckEnum("ShareOf", run_.shares_of, ShareOf::kTokens);
    key_ = "run.io";
    CheckEnum("IoBackend", run_.io.backend, IoBackend::kPread);
    CheckEnum("VerifyChecksums", run_.io.verify, VerifyChecksums::kAlways);
    key_ = "run.loader";
    const LoaderOptions& loader = run_.loader;
    CheckEnum("LastBatch", loader.last_batch, LastBatch::kDrop);
    CheckEnum("TokenType", loader.token_type, TokenType::kI64);
    CheckEnum("DeviceType", loader.device.type, DeviceType::kCuda);
    for (const BatchTensor tensor : loader.tensors) {
      CheckEnum("BatchTensor", tensor, kLastBatchTensor);
    }
    for (const auto& entry : loader.loss_weights) CheckString(entry.first);
    if (loader.rank != 0 || loader.ranks != 1 || loader.start_step != 0 ||
        loader.context != ContextRank()) {
      Lost(
          "states rank, ranks, context or start_step, which are not part of a "
          "description: give ranks to OpenLoader(run, ranks), or change a "
          "copy of Config::loader_options()");
    }
    key_ = "run.catalogs";
    for (const std::string& folder : run_.catalogs) CheckString(folder);
  }

  const Run& run_;
  std::string key_;             // of what is checked
  std::set<std::string> seen_;  // all lines
  RunMistakes mistakes_;
};

}  // namespace

RunMistakes FindMistakes(const Run& run) { return MistakeFinder(run).Find(); }

}  // namespace poniente::internal
