// SPDX-License-Identifier: Apache-2.0
#include "analysis/diff/stated_options.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "config/write/run_writer.h"
#include "dataset/joined_path.h"

namespace poniente::internal {
namespace {

// Others are compared by what they make.
constexpr std::array<std::string_view, 13> kCompared = {
    "block_shuffle", "documents",  "era_shuffle", "filter",
    "hold_out",      "max_epochs", "order",       "order_documents",
    "repeat",        "shuffle",    "slice",       "stop",
    "take",
};

// The node at `path`, which is `at` or below it; a node that uses another, and
// then the one it uses. Empty if there is none.
std::vector<const Node*> NodesAt(const Node& node, const std::string& at,
                                 const std::string& path) {
  if (at == path) {
    std::vector<const Node*> found = {&node};
    while (found.back()->kind == NodeKind::kUse) {
      found.push_back(&found.back()->children[0]);
    }
    return found;
  }
  if (node.kind == NodeKind::kUse) {
    return NodesAt(node.children[0], at, path);
  }
  for (const Node& child : node.children) {
    const std::string below = JoinedPath(at, child.name);
    if (below == at || !IsAtOrBelow(path, below)) continue;
    std::vector<const Node*> found = NodesAt(child, below, path);
    if (!found.empty()) return found;
  }
  return {};
}

std::map<std::string, std::string> OptionsOf(
    const std::vector<const Node*>& nodes) {
  std::map<std::string, std::string> options;
  for (const Node* const node : nodes) options.merge(OptionTexts(*node));
  return options;
}

std::vector<std::string> ChildPaths(const Run& run, const std::string& path) {
  const std::vector<const Node*> found = NodesAt(run.data, "", path);
  std::vector<std::string> paths;
  if (found.empty()) return paths;
  for (const Node& child : found.back()->children) {
    if (!child.name.empty()) paths.push_back(JoinedPath(path, child.name));
  }
  return paths;
}

}  // namespace

std::vector<OptionDifference> DiffOptions(const Run& a, const Run& b,
                                          const std::string& path) {
  std::vector<OptionDifference> differences;
  const std::vector<const Node*> nodes_a = NodesAt(a.data, "", path);
  const std::vector<const Node*> nodes_b = NodesAt(b.data, "", path);
  if (nodes_a.empty() || nodes_b.empty()) return differences;
  const std::map<std::string, std::string> in_a = OptionsOf(nodes_a);
  const std::map<std::string, std::string> in_b = OptionsOf(nodes_b);
  const auto value = [](const std::map<std::string, std::string>& options,
                        const std::string& key) -> DiffValue {
    const auto found = options.find(key);
    if (found == options.end()) return {};
    return found->second;
  };
  for (const std::string_view name : kCompared) {
    const std::string key(name);
    DiffValue one = value(in_a, key);
    DiffValue other = value(in_b, key);
    if (one == other) continue;
    differences.push_back({key, std::move(one), std::move(other)});
  }
  return differences;
}

std::vector<std::string> PathsBelow(const Run& a, const Run& b,
                                    const std::string& path) {
  const std::vector<std::string> in_a = ChildPaths(a, path);
  std::vector<std::string> both;
  for (const std::string& below : ChildPaths(b, path)) {
    if (std::find(in_a.begin(), in_a.end(), below) != in_a.end()) {
      both.push_back(below);
    }
  }
  return both;
}

}  // namespace poniente::internal
