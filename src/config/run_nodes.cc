// SPDX-License-Identifier: Apache-2.0
#include "config/run_nodes.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "config/write/toml_text.h"
#include "dataset/joined_path.h"

namespace poniente::internal {
namespace {

bool HasScores(const std::optional<NodeFilter>& filter) {
  return filter.has_value() && filter->kind == NodeFilter::Kind::kScores;
}

// The filter whose threshold is a component's; null if there is none. What is
// used under a name becomes the component's own where `AnyNode` is not const.
template <class AnyNode>
auto ThresholdOf(AnyNode& node) -> decltype(&*node.filter) {
  if (HasScores(node.filter)) return &*node.filter;
  if (node.kind == NodeKind::kUse) return ThresholdOf(node.children[0]);
  return HasScores(node.documents) ? &*node.documents : nullptr;
}

// By the paths of names that the loader knows the sources by.
void CollectLossWeights(const Node& node, const std::string& path,
                        LoaderOptions* loader) {
  for (const Node& child : node.children) {
    // A node that is used has the name of the one that uses it.
    const std::string at = JoinedPath(path, child.name);
    if (child.loss_weight.has_value()) {
      loader->loss_weights[at] = static_cast<float>(*child.loss_weight);
    }
    CollectLossWeights(child, at, loader);
  }
}

void VisitBelow(const std::string& key, const Node& node, size_t depth,
                size_t level, const VisitNode& visit) {
  constexpr size_t kDeepest = 60;
  if (depth > kDeepest || level > kDeepestTree) return;
  visit(key, node, depth);
  for (size_t i = 0; i < node.children.size(); ++i) {
    const Node& child = node.children[i];
    std::string below;
    switch (node.kind) {
      case NodeKind::kUse:
        below = absl::StrCat("data.nodes.", TomlKey(node.use));
        break;
      case NodeKind::kConcat:
        below = absl::StrCat(key, ".concat[", i, "]");
        break;
      default:
        below = absl::StrCat(
            key, node.kind == NodeKind::kMixture ? ".mixture." : ".flat.",
            TomlKey(child.name));
    }
    VisitBelow(below, child, node.kind == NodeKind::kUse ? 1 : depth + 1,
               level + 1, visit);
  }
}

}  // namespace

std::string ToString(const SourceLocation& location) {
  if (location.file.empty()) return location.key;
  return absl::StrCat(location.file, ":", location.line, ":", location.column,
                      ": ", location.key);
}

std::string TooManyNodes() {
  return absl::StrCat("makes a tree of more than ", kMaxNodes, " nodes");
}

bool IsDeeperThan(const Node& node, size_t levels) {
  return std::any_of(node.children.begin(), node.children.end(),
                     [levels](const Node& child) {
                       return levels == 0 || IsDeeperThan(child, levels - 1);
                     });
}

bool IsTooLarge(const Node& node) {
  return !node.mistake.empty() && node.mistake == TooManyNodes();
}

const Node& Used(const Node& node) {
  const Node* used = &node;
  while (used->kind == NodeKind::kUse) used = &used->children[0];
  return *used;
}

bool IsSource(const Node& node) {
  return node.kind == NodeKind::kStore || node.kind == NodeKind::kHub ||
         node.kind == NodeKind::kDeclared || node.kind == NodeKind::kDataset;
}

std::vector<WeightedComponent> WeightedChildren(const Node& mixture) {
  std::vector<WeightedComponent> components;
  for (const Node& child : mixture.children) {
    components.push_back({child.name, WeightOf(child), std::nullopt});
  }
  return components;
}

bool IsDrawn(const Node& mixture, const Node& child,
             const std::vector<RunStage>& stages) {
  const bool is_scores = mixture.mixture.weight_rule == WeightRule::kScores;
  const auto draws = [is_scores](double weight) {
    return is_scores ? weight > -INFINITY : weight > 0;
  };
  return draws(WeightOf(child)) ||
         std::any_of(stages.begin(), stages.end(), [&](const RunStage& stage) {
           const auto weight = stage.weights.find(child.name);
           return weight != stage.weights.end() && draws(weight->second);
         });
}

bool IsOneSource(const Node& node) { return IsSource(Used(node)); }

bool ChangesItems(const Node& node) {
  return node.filter.has_value() || node.order.has_value() ||
         node.slice.has_value() || node.take.has_value();
}

std::optional<uint64_t> TokensOfDataset(const Run& run,
                                        const DatasetNode& dataset) {
  const LengthState length = dataset.length_now();
  const uint64_t tokens =
      dataset.item_tokens() > 0 ? dataset.item_tokens() : WindowTokens(run);
  if (!length.is_final || length.is_endless ||
      length.readable > UINT64_MAX / tokens) {
    return std::nullopt;
  }
  return length.readable * tokens;
}

bool IsStartOfRun(const RunPoint& point) {
  return point.count == 0 && point.share == 0;
}

uint32_t LongestSample(const Run& run) {
  uint32_t longest = 0;
  bool is_replaced = false;  // run.seq_len, from the first sample on
  for (const RunStage& stage : run.stages) {
    longest = std::max(longest, stage.seq_len.value_or(0));
    is_replaced |= stage.seq_len.has_value() && IsStartOfRun(stage.start);
  }
  for (const SeqLenStage& change : run.seq_lens) {
    longest = std::max(longest, change.seq_len);
    is_replaced |= IsStartOfRun(change.start);
  }
  return is_replaced ? longest : std::max(longest, run.seq_len);
}

uint32_t WindowTokens(const Run& run) {
  return run.max_seq_len > 0 ? run.max_seq_len : LongestSample(run);
}

bool HasThreshold(const Node& node) { return ThresholdOf(node) != nullptr; }

bool SetThreshold(const ScoreThreshold& at_least, Node* node) {
  NodeFilter* const filter = ThresholdOf(*node);
  if (filter == nullptr) return false;
  filter->at_least = at_least;
  return true;
}

bool HasInfilledSource(const Node& node, bool is_above) {
  const bool is_infilled = IsInfilled(node, is_above);
  if (node.children.empty()) return is_infilled;
  return std::any_of(node.children.begin(), node.children.end(),
                     [is_infilled](const Node& child) {
                       return HasInfilledSource(child, is_infilled);
                     });
}

std::string HoldOutText(const NodeHoldOut& hold_out, bool all) {
  Keys keys;
  if (hold_out.documents != 0) {
    keys.Add("documents", Float(hold_out.documents));
  }
  if (hold_out.windows != 0) keys.Add("windows", Float(hold_out.windows));
  if (all || hold_out.seed != 0) keys.Add("seed", hold_out.seed);
  if (hold_out.invert) keys.Add("invert", Boolean(true));
  return keys.Inline();
}

std::string DocumentOrderOfPacked() {
  return "cannot be combined with pack_documents, which seats documents by "
         "their lengths: leave one of them out, or state "
         "pack_documents = false for this source";
}

LoaderOptions LoaderOptionsOf(const Run& run) {
  LoaderOptions options = run.loader;
  CollectLossWeights(run.data, "", &options);
  const auto& tensors = options.tensors;
  if (!options.loss_weights.empty() &&
      std::find(tensors.begin(), tensors.end(), BatchTensor::kLossWeights) ==
          tensors.end()) {
    options.tensors.push_back(BatchTensor::kLossWeights);
  }
  return options;
}

void ForEachNode(const Run& run, const VisitNode& visit) {
  VisitBelow("data", run.data, 0, 0, visit);
  for (const RunEval& eval : run.evals) {
    if (eval.held_out.has_value()) continue;
    VisitBelow(absl::StrCat("data.eval.", TomlKey(eval.name)), eval.data, 1, 0,
               visit);
  }
}

std::vector<std::string> DatasetKeys(const Run& run) {
  std::vector<std::string> keys;
  ForEachNode(run, [&](const std::string& key, const Node& node, size_t) {
    if (node.kind == NodeKind::kDataset) keys.push_back(key);
  });
  return keys;
}

}  // namespace poniente::internal
