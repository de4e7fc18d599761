// SPDX-License-Identifier: Apache-2.0
// What differs between the trees of two runs: kinds, parameters and seeds of
// nodes. Sources are compared in source_diff.cc, mixtures in mixture_diff.cc.
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analysis/diff/run_diff.h"
#include "analysis/diff/tree_differences.h"
#include "dataset/joined_path.h"
#include "poniente/extend/infilled_dataset.h"

namespace poniente::internal {
namespace {

// A node below others of one child each, which have no name of their own.
struct Chain {
  explicit Chain(const DatasetNode& top) : last(&top) {
    while (true) {
      children = last->children();
      if (children.size() != 1 || !children[0].name.empty()) return;
      // Whether a root is repeated endlessly follows from the run's length.
      // What is filled in the middle is told of each source.
      const bool is_endless_repeat =
          last->repeats_items() && last->length_now().is_endless;
      if (!is_endless_repeat && InfilledOf(*last) == nullptr) {
        links.push_back(last);
      }
      last = children[0].node;
    }
  }

  std::vector<const DatasetNode*> links;
  const DatasetNode* last;
  std::vector<NamedNode> children;  // of the last
};

std::string KindOf(const DatasetNode& node) {
  return node.children().empty() ? "source" : node.name();
}

uint64_t ParametersOf(const DatasetNode& node) {
  const std::optional<NodeIdentity> identity = node.identity();
  return identity ? identity->parameters : 0;
}

class TreeDiff {
 public:
  explicit TreeDiff(TreeDifferences* found) : found_(found) {}

  // `is_run`: items of the node are the samples of the run.
  void Compare(const DatasetNode& node_a, const DatasetNode& node_b,
               const std::string& path, bool is_run) {
    const Chain a(node_a);
    const Chain b(node_b);
    CompareLinks(a, b, path);
    for (const Chain* chain : {&a, &b}) {
      for (const DatasetNode* link : chain->links) {
        // The first pass of a repeated node is the node itself.
        is_run &= link->is_prefix() || link->repeats_items();
      }
    }
    const std::string kind = KindOf(*a.last);
    if (kind != KindOf(*b.last)) {
      found_->Add("kind of " + NodeWords(path), kind, KindOf(*b.last),
                  found_->AfterBelow(path));
      return;
    }
    CompareSeeds(*a.last, *b.last, path);
    const bool are_mixtures =
        AddMixtureDifferences(*a.last, *b.last, path, is_run, found_);
    if (!are_mixtures && ParametersOf(*a.last) != ParametersOf(*b.last)) {
      found_->AddOptionsOr(
          absl::StrCat("parameters of ", NodeWords(path), " (", kind, ")"),
          *a.last, *b.last, path, found_->AfterBelow(path));
    }
    CompareChildren(a.children, b.children, path);
  }

 private:
  void CompareChildren(const std::vector<NamedNode>& a,
                       const std::vector<NamedNode>& b,
                       const std::string& path) {
    using Key = std::tuple<std::string, uint32_t, uint32_t>;
    const auto keyed = [](const std::vector<NamedNode>& children) {
      std::map<Key, const DatasetNode*> nodes;
      std::map<std::string, uint32_t> times;  // of unnamed children
      for (const NamedNode& child : children) {
        const uint32_t time = child.name.empty() ? times[child.name]++ : 0;
        nodes[{child.name, child.view, time}] = child.node;
      }
      return nodes;
    };
    const std::map<Key, const DatasetNode*> in_b = keyed(b);
    for (const auto& [key, node] : keyed(a)) {
      const auto found = in_b.find(key);
      if (found == in_b.end()) continue;  // its sources are told
      Compare(*node, *found->second, JoinedPath(path, std::get<0>(key)), false);
    }
  }

  void CompareLinks(const Chain& a, const Chain& b, const std::string& path) {
    const auto kinds = [](const Chain& chain) {
      return absl::StrJoin(chain.links, ", ",
                           [](std::string* out, const DatasetNode* node) {
                             absl::StrAppend(out, node->name());
                           });
    };
    if (kinds(a) != kinds(b)) {
      if (!found_->AddOptions(path, found_->AfterBelow(path))) {
        found_->Add("nodes above " + NodeWords(path), kinds(a), kinds(b),
                    found_->AfterBelow(path));
      }
      return;
    }
    for (size_t i = 0; i < a.links.size(); ++i) {
      if (ParametersOf(*a.links[i]) == ParametersOf(*b.links[i])) continue;
      found_->AddOptionsOr(absl::StrCat("parameters of ", NodeWords(path), " (",
                                        a.links[i]->name(), ")"),
                           *a.links[i], *b.links[i], path,
                           found_->AfterBelow(path));
    }
  }

  // Of the topmost node, and of those that state their own.
  void CompareSeeds(const DatasetNode& node_a, const DatasetNode& node_b,
                    const std::string& path) {
    const auto a = node_a.identity();
    const auto b = node_b.identity();
    if (!a || !b || !a->seed || !b->seed || a->seed == b->seed) return;
    if (!path.empty() && !a->states_seed && !b->states_seed) return;
    found_->Add(path.empty() ? "seed" : "seed of " + NodeWords(path), *a->seed,
                *b->seed, found_->AfterBelow(path));
  }

  TreeDifferences* const found_;
};

}  // namespace

void AppendTreeDifferences(const TracedRun& a, const TracedRun& b,
                           const ComparedSamples& compared,
                           std::vector<RunDifference>* differences) {
  TreeDifferences found(a, b, compared, differences);
  AddSourceDifferences(&found);
  TreeDiff(&found).Compare(a.dataset(), b.dataset(), "", /*is_run=*/true);
}

}  // namespace poniente::internal
