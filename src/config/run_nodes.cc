// SPDX-License-Identifier: Apache-2.0
#include "config/run_nodes.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/write/toml_text.h"
#include "dataset/joined_path.h"

namespace poniente::internal {
namespace {

bool HasScores(const std::optional<NodeFilter>& filter) {
  return filter.has_value() && filter->kind == NodeFilter::Kind::kScores;
}

// The filter whose threshold is a component's; null if there is none.
const NodeFilter* ThresholdOf(const Node& node) {
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

// Calls visit(key, node) for each node, with the key that TOML gives it.
template <class Visit>
void ForEachNode(const std::string& key, const Node& node, const Visit& visit) {
  visit(key, node);
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
    ForEachNode(below, child, visit);
  }
}

// The keys of the root are those of the run, too.
template <class Add>
void AddMistakesOfRoot(const Node& root, const Add& add) {
  if (root.seed.has_value()) {
    add("states a seed, but is the root: state Run::seed");
  }
  if (!root.stages.empty()) {
    add("states stages, but is the root: state Run::stages");
  }
}

}  // namespace

std::string ToString(const SourceLocation& location) {
  if (location.file.empty()) return location.key;
  return absl::StrCat(location.file, ":", location.line, ":", location.column,
                      ": ", location.key);
}

const Node& Used(const Node& node) {
  const Node* used = &node;
  while (used->kind == NodeKind::kUse) used = &used->children[0];
  return *used;
}

const Node& StatedRoot(const Run& run) {
  const Node& root = run.data;
  const bool is_changed = root.filter || root.order || root.slice ||
                          root.take || root.repeat || root.shuffle;
  return is_changed ? root : Used(root);
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

uint32_t LongestSample(const Run& run) {
  uint32_t longest = run.seq_len;
  for (const RunStage& stage : run.stages) {
    longest = std::max(longest, stage.seq_len.value_or(0));
  }
  for (const SeqLenStage& change : run.seq_lens) {
    longest = std::max(longest, change.seq_len);
  }
  return longest;
}

uint32_t WindowTokens(const Run& run) {
  return run.max_seq_len > 0 ? run.max_seq_len : LongestSample(run);
}

bool HasThreshold(const Node& node) { return ThresholdOf(node) != nullptr; }

bool SetThreshold(double at_least, Node* node) {
  const NodeFilter* const filter = ThresholdOf(*node);
  if (filter == nullptr) return false;
  const_cast<NodeFilter*>(filter)->at_least = at_least;
  return true;
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

absl::Status CheckNodes(const Run& run) {
  std::vector<std::string> mistakes;
  std::map<std::string, const Node*> used;
  ForEachNode("data", run.data, [&](const std::string& key, const Node& node) {
    const auto add = [&](absl::string_view mistake) {
      mistakes.push_back(absl::StrCat(key, " ", mistake));
    };
    if (!node.mistake.empty()) add(node.mistake);
    if (&node == &run.data) AddMistakesOfRoot(node, add);
    std::set<std::string_view> names;
    for (const Node& child : node.children) {
      if (node.kind != NodeKind::kConcat && !names.insert(child.name).second) {
        add(absl::StrCat("has two children named '", child.name, "'"));
      }
    }
    if (node.kind == NodeKind::kDataset && node.dataset == nullptr) {
      add("is a dataset of the program, but null");
    }
    if (node.kind != NodeKind::kUse) return;
    if (node.children.size() != 1) {
      add(absl::StrCat("uses a node, but has ", node.children.size(),
                       " children: make it with Use()"));
      return;
    }
    const Node& child = node.children[0];
    const auto [first, is_new] = used.emplace(node.use, &child);
    if (!is_new && !(*first->second == child)) {
      add(absl::StrCat("uses '", node.use,
                       "', the name of another node elsewhere: Use() needs a "
                       "name for each"));
    }
  });
  if (mistakes.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(mistakes, "\n"));
}

std::vector<std::string> DatasetKeys(const Run& run) {
  std::vector<std::string> keys;
  ForEachNode("data", run.data, [&](const std::string& key, const Node& node) {
    if (node.kind == NodeKind::kDataset) keys.push_back(key);
  });
  return keys;
}

}  // namespace poniente::internal
