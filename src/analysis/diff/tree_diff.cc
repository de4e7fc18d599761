// SPDX-License-Identifier: Apache-2.0
// What differs between the trees of two runs: sources, weights, kinds and
// parameters of nodes.
#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analysis/diff/first_reads.h"
#include "analysis/diff/run_diff.h"
#include "analysis/diff/stated_options.h"
#include "analysis/diff/weight_diff.h"
#include "config/write/node_options_writer.h"
#include "dataset/joined_path.h"
#include "index/mixture/mixture_map.h"
#include "poniente/extend/infilled_dataset.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/selection.h"
#include "poniente/token_source.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr IndexSpan kAll = {{.index = 0}, {.index = UINT64_MAX}};

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

std::string LengthWords(const DatasetNode& node) {
  const LengthState length = node.length_now();
  if (length.is_endless) return "endless";
  return absl::StrCat(length.readable, " items");
}

const MixtureMap* MixtureOf(const std::shared_ptr<const IndexMap>& map) {
  return dynamic_cast<const MixtureMap*>(map.get());
}

class TreeDiff {
 public:
  TreeDiff(const TracedRun& a, const TracedRun& b,
           const ComparedSamples& compared,
           std::vector<RunDifference>* differences)
      : a_(a),
        b_(b),
        compared_(compared),
        differences_(differences),
        reads_a_(a, compared.steps),
        reads_b_(b, compared.steps) {}

  void CompareNodes() { Compare(a_.dataset(), b_.dataset(), "", true); }

  void CompareSources() {
    using Key = std::pair<std::string, uint32_t>;
    std::map<Key, std::pair<const uint32_t*, const uint32_t*>> pairs;
    const std::vector<uint32_t> leaves_a = Numbers(a_);
    const std::vector<uint32_t> leaves_b = Numbers(b_);
    for (const uint32_t& leaf : leaves_a) pairs[KeyOf(a_, leaf)].first = &leaf;
    for (const uint32_t& leaf : leaves_b) pairs[KeyOf(b_, leaf)].second = &leaf;
    for (const auto& [key, leaves] : pairs) {
      const auto& [leaf_a, leaf_b] = leaves;
      std::string name = absl::StrCat("'", key.first, "'");
      if (key.second > 0) absl::StrAppend(&name, " (view ", key.second, ")");
      if (leaf_b == nullptr) {
        Add("source " + name, SourceWords(a_, *leaf_a), {},
            After(reads_a_.Of(*leaf_a)));
      } else if (leaf_a == nullptr) {
        Add("source " + name, {}, SourceWords(b_, *leaf_b),
            After(reads_b_.Of(*leaf_b)));
      } else {
        ComparePair(name, *leaf_a, *leaf_b);
      }
    }
  }

 private:
  void Add(std::string what, DiffValue a, DiffValue b,
           std::optional<uint64_t> from_step) {
    differences_->push_back(
        {std::move(what), std::move(a), std::move(b), from_step, true});
  }

  // Adds what the runs state differently of the node, once; false if there is
  // nothing.
  bool AddOptions(const std::string& path, std::optional<uint64_t> from_step) {
    const std::vector<OptionDifference> options =
        DiffOptions(a_.run(), b_.run(), path);
    for (const OptionDifference& one : options) {
      std::string what = absl::StrCat(one.key, " of ", Name(path));
      if (told_.insert(what).second) {
        Add(std::move(what), one.a, one.b, from_step);
      }
    }
    return !options.empty();
  }

  // Else how many items the nodes have; where this is the same, with their
  // fingerprints.
  void AddOptionsOr(std::string what, const DatasetNode& a,
                    const DatasetNode& b, const std::string& path,
                    std::optional<uint64_t> from_step) {
    if (AddOptions(path, from_step)) return;
    const std::string items_a = LengthWords(a);
    const std::string items_b = LengthWords(b);
    const auto words = [&](const DatasetNode& node, const std::string& items) {
      if (items_a != items_b) return items;
      return absl::StrFormat("%s, fingerprint %016x", items,
                             node.fingerprint());
    };
    Add(std::move(what), words(a, items_a), words(b, items_b), from_step);
  }

  // Where reading begins is known by the block: a difference there cannot
  // matter before the runs differ.
  std::optional<uint64_t> After(std::optional<uint64_t> read) const {
    if (!read || !compared_.first) return std::nullopt;
    return std::max(*read, compared_.first->step);
  }

  std::optional<uint64_t> AfterBelow(const std::string& path) {
    const std::optional<uint64_t> a = reads_a_.Below(path);
    const std::optional<uint64_t> b = reads_b_.Below(path);
    if (!a || !b) return After(a ? a : b);
    return After(std::min(*a, *b));
  }

  static std::vector<uint32_t> Numbers(const TracedRun& run) {
    std::vector<uint32_t> leaves(run.sources().size());
    for (uint32_t leaf = 0; leaf < leaves.size(); ++leaf) leaves[leaf] = leaf;
    return leaves;
  }

  static std::pair<std::string, uint32_t> KeyOf(const TracedRun& run,
                                                uint32_t leaf) {
    return {run.trace().tree().leaves()[leaf].path, run.ViewOf(leaf)};
  }

  static std::string SourceWords(const TracedRun& run, uint32_t leaf) {
    const ConfigSource& source = run.sources()[leaf];
    switch (SourceKindOf(source)) {
      case SourceKind::kData:
        return absl::StrFormat("%s (%d tokens, fingerprint %016x)",
                               source.location, source.tokens,
                               source.data->fingerprint());
      case SourceKind::kOwn: {
        // 0: not known yet.
        const std::string tokens =
            source.tokens > 0 ? absl::StrCat(source.tokens, " tokens, ") : "";
        return absl::StrFormat(
            "a dataset of the program's own (%sfingerprint %016x)", tokens,
            FingerprintOf(run, leaf));
      }
      case SourceKind::kNumber:
        break;
    }
    return absl::StrCat(source.tokens, " tokens");
  }

  static uint64_t FingerprintOf(const TracedRun& run, uint32_t leaf) {
    return run.trace().tree().leaves()[leaf].node->fingerprint();
  }

  bool AreSameData(uint32_t leaf_a, uint32_t leaf_b) const {
    const ConfigSource& a = a_.sources()[leaf_a];
    const ConfigSource& b = b_.sources()[leaf_b];
    const SourceKind kind = SourceKindOf(a);
    if (kind != SourceKindOf(b)) return false;
    if (kind == SourceKind::kData) {
      return a.data->fingerprint() == b.data->fingerprint();
    }
    if (a.tokens != b.tokens) return false;
    return kind == SourceKind::kNumber ||
           FingerprintOf(a_, leaf_a) == FingerprintOf(b_, leaf_b);
  }

  void ComparePair(const std::string& name, uint32_t leaf_a, uint32_t leaf_b) {
    const ConfigSource& a = a_.sources()[leaf_a];
    const ConfigSource& b = b_.sources()[leaf_b];
    const auto step = [&] {
      const auto in_a = reads_a_.Of(leaf_a);
      const auto in_b = reads_b_.Of(leaf_b);
      return After(in_a && in_b ? std::min(in_a, in_b) : in_a ? in_a : in_b);
    };
    if (!AreSameData(leaf_a, leaf_b)) {
      Add("source " + name, SourceWords(a_, leaf_a), SourceWords(b_, leaf_b),
          step());
      return;
    }
    const DatasetNode& node_a = *a_.trace().tree().leaves()[leaf_a].node;
    const DatasetNode& node_b = *b_.trace().tree().leaves()[leaf_b].node;
    const std::string packing_a = PackingWords(node_a);
    const std::string packing_b = PackingWords(node_b);
    if (packing_a != packing_b) {
      // The items are others, so documents are compared.
      Add("packing of " + name, packing_a, packing_b, step());
      if (ChoiceOf(a.documents) != ChoiceOf(b.documents)) {
        Add("documents of " + name, DocumentWords(a), DocumentWords(b), step());
      }
    } else if (node_a.fingerprint() != node_b.fingerprint() &&
               node_a.item_tokens() == node_b.item_tokens()) {
      // Other lengths are those of the schedule.
      AddOptionsOr("selection of " + name, node_a, node_b,
                   KeyOf(a_, leaf_a).first, step());
    }
    const DiffValue infilled_a = InfillingWords(a_, leaf_a);
    const DiffValue infilled_b = InfillingWords(b_, leaf_b);
    if (infilled_a != infilled_b) {
      Add("fill_in_the_middle of " + name, infilled_a, infilled_b, step());
    }
    if (a.location != b.location) {
      differences_->push_back(
          {"location of " + name, a.location, b.location, 0, false});
    }
  }

  // How the documents of a source are packed.
  static std::string PackingWords(const DatasetNode& leaf) {
    const PackedItems* const packed = PackedItemsOf(leaf);
    if (packed == nullptr) return "false";
    if (packed->packing_options() == nullptr) return "true";
    // Where the order by length lies changes no token.
    NodePacking packing = {.options = *packed->packing_options()};
    packing.options.index_file.clear();
    return PackingText(packing, /*is_resolved=*/false, "");
  }

  static uint64_t ChoiceOf(const std::shared_ptr<const Selection>& chosen) {
    return chosen == nullptr ? 0 : chosen->fingerprint();
  }

  static std::string DocumentWords(const ConfigSource& source) {
    if (source.documents == nullptr) return "all";
    return absl::StrCat(source.documents->count(), " of ",
                        source.documents->size());
  }

  // How the documents of a source are filled in the middle; nothing if they are
  // not.
  static DiffValue InfillingWords(const TracedRun& run, uint32_t leaf) {
    const InfilledDataset* const infilled = InfilledOf(run.dataset());
    const InfilledSource* const source =
        infilled == nullptr ? nullptr : infilled->infillings().SourceOf(leaf);
    if (source == nullptr) return {};
    const InfillingOptions& options = source->options;
    std::string words = absl::StrCat("rate ", options.rate);
    for (const InfillingRate& rate : source->rates) {
      absl::StrAppend(&words, ", ", rate.rate, " from step ",
                      run.schedule().StepOf(rate.start_sample));
    }
    absl::StrAppend(&words, ", spm_rate ", options.spm_rate, ", ids ",
                    options.prefix, ", ", options.middle, ", ", options.suffix);
    absl::StrAppend(&words, ", ", Absl(InfilledPiecesName(options.pieces)),
                    " pieces of at least ", options.min_tokens, " tokens");
    return words;
  }

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
      Add("kind of " + Name(path), kind, KindOf(*b.last), AfterBelow(path));
      return;
    }
    CompareSeeds(*a.last, *b.last, path);
    const std::shared_ptr<const IndexMap> map_a = a.last->map();
    const std::shared_ptr<const IndexMap> map_b = b.last->map();
    if (MixtureOf(map_a) != nullptr && MixtureOf(map_b) != nullptr) {
      CompareMixtures({*MixtureOf(map_a), a.children},
                      {*MixtureOf(map_b), b.children}, path, is_run);
    } else if (ParametersOf(*a.last) != ParametersOf(*b.last)) {
      AddOptionsOr(absl::StrCat("parameters of ", Name(path), " (", kind, ")"),
                   *a.last, *b.last, path, AfterBelow(path));
    }
    CompareChildren(a.children, b.children, path);
  }

  static std::string Name(const std::string& path) {
    return path.empty() ? "the root" : absl::StrCat("'", path, "'");
  }

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
      if (!AddOptions(path, AfterBelow(path))) {
        Add("nodes above " + Name(path), kinds(a), kinds(b), AfterBelow(path));
      }
      return;
    }
    for (size_t i = 0; i < a.links.size(); ++i) {
      if (ParametersOf(*a.links[i]) == ParametersOf(*b.links[i])) continue;
      AddOptionsOr(absl::StrCat("parameters of ", Name(path), " (",
                                a.links[i]->name(), ")"),
                   *a.links[i], *b.links[i], path, AfterBelow(path));
    }
  }

  // Of the topmost node, and of those that state their own.
  void CompareSeeds(const DatasetNode& node_a, const DatasetNode& node_b,
                    const std::string& path) {
    const auto a = node_a.identity();
    const auto b = node_b.identity();
    if (!a || !b || !a->seed || !b->seed || a->seed == b->seed) return;
    if (!path.empty() && !a->states_seed && !b->states_seed) return;
    Add(path.empty() ? "seed" : "seed of " + Name(path), *a->seed, *b->seed,
        AfterBelow(path));
  }

  struct Mixture {
    const MixtureMap& map;
    const std::vector<NamedNode>& children;

    // By name: canonical number.
    std::map<std::string, uint32_t> Components() const {
      std::map<std::string, uint32_t> numbers;
      const std::vector<uint32_t>& declared = map.order().declared;
      for (uint32_t c = 0; c < declared.size(); ++c) {
        numbers[children[declared[c]].name] = c;
      }
      return numbers;
    }
    bool Draws(uint32_t component) const {
      return map.SpanBelow(map.order().declared[component], kAll).has_value();
    }
  };

  void CompareMixtures(const Mixture& a, const Mixture& b,
                       const std::string& path, bool is_run) {
    const bool has_other_blocks =
        a.map.plan().block_size() != b.map.plan().block_size();
    if (has_other_blocks) {
      Add("block_size of " + Name(path), a.map.plan().block_size(),
          b.map.plan().block_size(), AfterBelow(path));
    }
    const std::map<std::string, uint32_t> in_b = b.Components();
    ComponentPairs both;
    for (const auto& [name, component] : a.Components()) {
      const auto found = in_b.find(name);
      if (found != in_b.end()) both[name] = {component, found->second};
    }
    CompareWeights(a, b, std::move(both), path, is_run, has_other_blocks);
    CompareRules(a, b, path);
  }

  // Shuffles, starts of views and the end, where the same components are drawn.
  void CompareRules(const Mixture& a, const Mixture& b,
                    const std::string& path) {
    const std::map<std::string, uint32_t> in_a = a.Components();
    const std::map<std::string, uint32_t> in_b = b.Components();
    const bool are_same = std::equal(
        in_a.begin(), in_a.end(), in_b.begin(), in_b.end(),
        [&](const auto& x, const auto& y) {
          return x.first == y.first && a.Draws(x.second) == b.Draws(y.second);
        });
    if (!are_same ||
        a.map.PrefixParameters(kAll) == b.map.PrefixParameters(kAll))
      return;
    // A component's shuffle is stated for the component.
    bool are_told = AddOptions(path, AfterBelow(path));
    for (const std::string& below : PathsBelow(a_.run(), b_.run(), path)) {
      are_told |= AddOptions(below, AfterBelow(below));
    }
    if (are_told) return;
    const auto words = [](const Mixture& mixture) -> DiffValue {
      if (!mixture.map.length()) return std::string("endless");
      return absl::StrCat(*mixture.map.length(), " samples");
    };
    Add("shuffles, views or end of " + Name(path), words(a), words(b),
        AfterBelow(path));
  }

  // What the stages state, then each component once, where its share first
  // differs. `is_explained`: whether the steps of ramps are known to differ.
  void CompareWeights(const Mixture& a, const Mixture& b,
                      ComponentPairs components, const std::string& path,
                      bool is_run, bool is_explained) {
    std::optional<uint64_t> below;
    if (!is_run) below = AfterBelow(path);
    const auto compare = [&](const char* what, auto member, auto words) {
      const auto other = DiffStated(a.map.plan(), b.map.plan(), member);
      if (!other.has_value()) return;
      is_explained = true;
      Add(path.empty() ? what : absl::StrCat(what, " of ", Name(path)),
          words(other->a->*member), words(other->b->*member),
          is_run ? StepOf(other->sample) : below);
    };
    compare("temperature", &StatedStage::temperature,
            [](double value) -> DiffValue { return value; });
    compare("ramp_blocks", &StatedStage::ramp_blocks,
            [](uint32_t value) -> DiffValue {
              if (value == 0) return {};  // not stated
              return uint64_t{value};
            });
    compare("ramp_temperature", &StatedStage::ramps_temperature,
            [](bool value) -> DiffValue {
              return std::string(value ? "true" : "false");
            });
    for (const WeightDifference& one :
         DiffWeights(a.map.plan(), b.map.plan(), std::move(components))) {
      if (one.is_on_the_way && is_explained) continue;
      differences_->push_back(
          {absl::StrCat(one.is_weight ? "weight of '" : "share of '",
                        JoinedPath(path, one.component), "'"),
           one.a, one.b, is_run ? StepOf(one.sample) : below, true, one.ramp_a,
           one.ramp_b});
    }
  }

  // Nullopt behind the steps that both runs have.
  std::optional<uint64_t> StepOf(uint64_t sample) const {
    if (compared_.steps == 0) return std::nullopt;
    const StepPlan last = a_.schedule().At(compared_.steps - 1);
    if (sample >= last.first_sample + last.batch_size) return std::nullopt;
    return a_.schedule().StepOf(sample);
  }

  const TracedRun& a_;
  const TracedRun& b_;
  const ComparedSamples& compared_;
  std::vector<RunDifference>* const differences_;
  FirstReads reads_a_;
  FirstReads reads_b_;
  std::set<std::string> told_;  // by AddOptions()
};

}  // namespace

void AppendTreeDifferences(const TracedRun& a, const TracedRun& b,
                           const ComparedSamples& compared,
                           std::vector<RunDifference>* differences) {
  TreeDiff diff(a, b, compared, differences);
  diff.CompareSources();
  diff.CompareNodes();
}

}  // namespace poniente::internal
