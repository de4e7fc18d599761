// SPDX-License-Identifier: Apache-2.0
#include "dataset/tree_past.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dataset/joined_path.h"
#include "index/keyed_hash.h"
#include "index/maps/group_map.h"
#include "index/maps/shuffle_map.h"
#include "index/maps/slice_map.h"
#include "index/max_samples.h"
#include "index/mixture/mixture_map.h"
#include "poniente/extend/infilled_dataset.h"

namespace poniente::internal {
namespace {

// Returns whether the node's first samples are the child's first items, as if
// the node did not exist.
bool HandsOn(const DatasetNode& node, uint64_t samples) {
  if (samples == 0) return false;
  const std::shared_ptr<const IndexMap> map = node.map();
  if (map == nullptr) return false;
  return map->PrefixParameters({{.index = 0}, {.index = samples - 1}}) ==
         uint64_t{0};
}

// Returns the topmost node that has an order or several children. Its seed is
// the seed of the tree.
const DatasetNode& TopOf(const DatasetNode& root, uint64_t samples) {
  const DatasetNode* at = &root;
  while (true) {
    const std::vector<NamedNode> children = at->children();
    const std::optional<NodeIdentity> identity = at->identity();
    const bool hands_on = !children.empty() && HandsOn(*at, samples);
    const bool is_order = identity && identity->is_order;
    if (!hands_on && (children.size() != 1 || is_order)) return *at;
    at = children[0].node;
  }
}

// Returns the numbers of the children in the order of their names, or of their
// declaration if that matters.
std::vector<uint32_t> Places(const std::vector<NamedNode>& children,
                             bool is_sequence) {
  std::vector<uint32_t> places(children.size());
  std::iota(places.begin(), places.end(), 0u);
  if (is_sequence) return places;
  std::stable_sort(places.begin(), places.end(), [&](uint32_t a, uint32_t b) {
    return std::tie(children[a].name, children[a].view) <
           std::tie(children[b].name, children[b].view);
  });
  return places;
}

class Walk {
 public:
  Walk(const DatasetNode& root, uint64_t samples,
       std::span<const std::string> grew)
      : top_(TopOf(root, samples)), grew_(grew), may_grow_(Grows(root, "")) {
    const std::optional<NodeIdentity> top = top_.identity();
    if (top) past_.seed = top->seed;
  }

  TreePast Run(const DatasetNode& root, uint64_t samples) {
    if (samples > 0) {
      past_.structure =
          Visit(root, {{.index = 0}, {.index = samples - 1}}, Names());
      FinishSources();
    }
    if (is_known_) return std::move(past_);
    TreePast unknown;
    unknown.seed = past_.seed;
    return unknown;
  }

 private:
  // The names that lead to a node.
  struct Names {
    std::string path;  // from the root, with the numbers of views
    // The node above that rearranges documents, its last sample, and the names
    // from there, without views; null if there is none.
    const InfilledDataset* infilled = nullptr;
    uint64_t infilled_end = 0;
    std::string below_infilled = {};
    // Whether the end of the span does not depend on how much there is of a
    // leaf that grows.
    bool knows_end = true;
  };

  uint64_t Visit(const DatasetNode& node, const IndexSpan& span, Names names) {
    const std::string& path = names.path;
    const std::vector<NamedNode> children = node.children();
    if (children.empty()) {
      AddSource(node, span.last, names);
      return Tag("leaf").word();
    }
    if (const InfilledDataset* const infilled = InfilledOf(node)) {
      names.infilled = infilled;
      names.infilled_end = span.last.index;
      names.below_infilled.clear();
    }
    const std::shared_ptr<const IndexMap> map = node.map();
    if (map == nullptr) {
      is_known_ = false;
      return 0;
    }
    const auto* mixture = dynamic_cast<const MixtureMap*>(map.get());
    if (mixture != nullptr) AddMixture(node, mixture->PrefixOf(span), path);
    const bool grows = may_grow_ && Grows(node, path);
    const std::optional<uint64_t> own = grows && mixture == nullptr
                                            ? OwnOfGrowing(*map, span)
                                            : map->PrefixParameters(span);
    const std::optional<NodeIdentity> identity = node.identity();
    // If the node passes on items one by one, the child's length beyond the
    // span does not belong to the past. Otherwise epochs and orders depend on
    // it.
    const bool hands_on =
        mixture == nullptr && (own.has_value() || node.makes_items());
    uint64_t hash = Own(node, identity, own);
    for (const uint32_t place :
         Places(children, !identity || identity->is_sequence)) {
      const NamedNode& child = children[place];
      std::optional<IndexSpan> below = map->SpanBelow(place, span);
      if (!below) continue;
      Names child_names = {
          Below(path, child), names.infilled, names.infilled_end,
          JoinedPath(names.below_infilled, child.name), names.knows_end};
      if (grows && Grows(*child.node, child_names.path)) {
        if (mixture != nullptr) below = mixture->DrawnOf(place, span);
        if (!below) continue;
        child_names.knows_end &= KnowsEnd(*map, own, &*below, span);
      } else if (!hands_on || EndCounts(*map, span, *below)) {
        CountLength(*child.node, &below->last);
      }
      const uint64_t hash_below =
          Visit(*child.node, *below, std::move(child_names));
      if (own == uint64_t{0}) return hash_below;
      hash = Derive(hash, Tag("child"), std::string_view(child.name),
                    child.view, hash_below);
    }
    return hash;
  }

  // Also if the node has all it needs of the leaf that grows, as Take() may.
  bool Grows(const DatasetNode& node, const std::string& path) const {
    const std::vector<NamedNode> children = node.children();
    if (children.empty()) {
      return !node.length_now().is_final ||
             std::find(grew_.begin(), grew_.end(), path) != grew_.end();
    }
    return std::any_of(children.begin(), children.end(),
                       [&](const NamedNode& child) {
                         return Grows(*child.node, Below(path, child));
                       });
  }

  // Where an epoch ends is not known, or was not: only whether the node counts.
  static std::optional<uint64_t> OwnOfGrowing(const IndexMap& map,
                                              const IndexSpan& span) {
    if (map.PrefixParameters(span).value_or(1) == 0) return 0;
    return std::nullopt;
  }

  // Returns whether the end of `below`, the span of `span` below a node above a
  // leaf that grows, does not depend on how much there is of the leaf. Sets it
  // for eras, which are whole.
  static bool KnowsEnd(const IndexMap& map, const std::optional<uint64_t>& own,
                       IndexSpan* below, const IndexSpan& span) {
    if (const auto* shuffle = dynamic_cast<const ShuffleMap*>(&map)) {
      const uint64_t era_items = shuffle->era_items();
      const uint64_t last = span.last.index;
      if (era_items < 2 || last == UINT64_MAX) return false;
      below->last.index = last + (era_items - 1 - last % era_items);
      return true;
    }
    return own == uint64_t{0} || dynamic_cast<const MixtureMap*>(&map) ||
           dynamic_cast<const SliceMap*>(&map);
  }

  uint64_t Own(const DatasetNode& node,
               const std::optional<NodeIdentity>& identity,
               const std::optional<uint64_t>& own) const {
    if (!identity) return Derive(node.fingerprint(), Tag("node"));
    const uint64_t hash = own ? *own : identity->parameters;
    if (!identity->states_seed || &node == &top_) return hash;
    return Derive(hash, Tag("seed"), identity->seed.value_or(0));
  }

  // Returns whether the end of `below`, the span of `span` below a node that
  // passes on items, depends on the child's length if it is the child's end:
  // above the node the length counts (what CountLength() left behind was
  // lost), or the node made its last items of a group that is cut short there.
  static bool EndCounts(const IndexMap& map, const IndexSpan& span,
                        const IndexSpan& below) {
    if (span.last.index == UINT64_MAX && below.last.epoch == 0) return true;
    const auto* groups = dynamic_cast<const GroupMap*>(&map);
    return groups != nullptr && below.last.index < UINT64_MAX &&
           (below.last.index + 1) % groups->group() != 0;
  }

  // Moves the last index to the end of the epoch if it is the last item.
  static void CountLength(const DatasetNode& child, Position* last) {
    const LengthState length = child.length_now();
    if (length.is_endless || last->index == UINT64_MAX) return;
    if (last->index + 1 >= length.readable) last->index = UINT64_MAX;
  }

  static std::string Below(const std::string& path, const NamedNode& child) {
    std::string name = child.name;
    if (child.view > 0) absl::StrAppend(&name, " (view ", child.view, ")");
    return JoinedPath(path, name);
  }

  void AddMixture(const DatasetNode& node, const MixtureMap::Prefix& prefix,
                  const std::string& path) {
    if (&node == &top_) {
      past_.weights = {prefix.end, prefix.stages, prefix.hash};
      return;
    }
    past_.nested = Derive(past_.nested.value_or(0), Tag("mixture"),
                          std::string_view(path), prefix.hash);
  }

  // How its documents are served belongs to the content of a source.
  void AddSource(const DatasetNode& leaf, const Position& last,
                 const Names& names) {
    PastSource& source = past_.sources.emplace_back();
    source.path = names.path;
    if (may_grow_ && Grows(leaf, names.path) && names.knows_end &&
        last.index < UINT64_MAX) {
      source.begin = leaf.BeginFingerprint(last.index + 1);
    }
    if (!leaf.length_now().is_final) return;
    source.fingerprint = leaf.fingerprint();
    if (names.infilled == nullptr) return;
    const uint64_t served = names.infilled->infillings().PastOf(
        names.below_infilled, names.infilled_end);
    if (served != 0) {
      source.fingerprint = Derive(*source.fingerprint, kInfillingTag, served);
    }
  }

  void FinishSources() {
    std::map<std::string, uint32_t> times;
    for (PastSource& source : past_.sources) {
      const uint32_t time = ++times[source.path];
      if (time > 1) absl::StrAppend(&source.path, " (", time, ")");
    }
    std::sort(past_.sources.begin(), past_.sources.end(),
              [](const auto& a, const auto& b) { return a.path < b.path; });
  }

  const DatasetNode& top_;
  const std::span<const std::string> grew_;
  const bool may_grow_;
  TreePast past_;
  bool is_known_ = true;
};

// Returns how many of the first `samples` samples the root has.
uint64_t SamplesRead(const DatasetNode& root, uint64_t samples) {
  const LengthState length = root.length_now();
  return std::min(samples, length.is_endless ? kMaxSamples : length.readable);
}

}  // namespace

TreePast PastOf(const DatasetNode& root, uint64_t samples,
                std::span<const std::string> grew) {
  const uint64_t read = SamplesRead(root, samples);
  return Walk(root, read, grew).Run(root, read);
}

std::optional<uint64_t> SeedOfPast(const DatasetNode& root, uint64_t samples) {
  const DatasetNode* top = nullptr;
  try {
    top = &TopOf(root, SamplesRead(root, samples));
  } catch (...) {
    top = &TopOf(root, 0);  // asks for no length
  }
  const std::optional<NodeIdentity> identity = top->identity();
  return identity ? identity->seed : std::nullopt;
}

}  // namespace poniente::internal
