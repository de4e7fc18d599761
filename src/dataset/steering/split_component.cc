// SPDX-License-Identifier: Apache-2.0
#include "dataset/steering/split_component.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "dataset/joined_path.h"
#include "dataset/leaf_items.h"
#include "dataset/steering/dropped_source.h"
#include "index/mixture/dropped_items.h"
#include "index/mixture/mixture_map.h"
#include "index/selection/omissions.h"
#include "poniente/dataset_tree.h"
#include "poniente/extend/index_map_dataset.h"
#include "poniente/extend/infilled_dataset.h"
#include "poniente/extend/piecewise_items.h"
#include "util/nearest_name.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

using Tokens = DatasetPtr<TokenWindow>;
using Mixture = MixtureDataset<TokenWindow>;

// Items that are looked up at a time.
constexpr uint64_t kAtOnce = 1 << 16;
// A bit for each takes 1 GiB.
constexpr uint64_t kMostItems = uint64_t{1} << 33;

// Calls visit(fingerprint of the leaf, item, index) for items of a dataset in
// an epoch.
template <class Visit>
absl::Status ForEachItem(const DatasetNode& dataset, uint64_t epoch,
                         std::span<const uint64_t> indices,
                         const Visit& visit) {
  const DatasetTree tree(dataset);
  std::vector<uint64_t> prints;
  for (const TreeLeaf& leaf : tree.leaves()) {
    prints.push_back(leaf.node->fingerprint());
  }
  std::vector<Position> positions;
  std::vector<LeafPosition> items;
  for (size_t begin = 0; begin < indices.size(); begin += kAtOnce) {
    const auto some = indices.subspan(
        begin, std::min<size_t>(kAtOnce, indices.size() - begin));
    positions.clear();
    for (const uint64_t index : some) {
      positions.push_back({.index = index, .epoch = epoch});
    }
    items.resize(positions.size());
    PONIENTE_RETURN_IF_ERROR(tree.Resolve(positions, items));
    for (size_t i = 0; i < items.size(); ++i) {
      visit(items[i].leaf, prints[items[i].leaf], items[i].position.index,
            some[i]);
    }
  }
  return absl::OkStatus();
}

// The same for all items of an epoch.
template <class Visit>
absl::Status ForAllItems(const DatasetNode& dataset, uint64_t epoch,
                         const Visit& visit) {
  const uint64_t length = dataset.length_now().readable;
  std::vector<uint64_t> indices;
  for (uint64_t begin = 0; begin < length; begin += kAtOnce) {
    indices.resize(std::min(kAtOnce, length - begin));
    std::iota(indices.begin(), indices.end(), begin);
    PONIENTE_RETURN_IF_ERROR(ForEachItem(dataset, epoch, indices, visit));
  }
  return absl::OkStatus();
}

// A set of items of leaves, which are known by the fingerprints of their
// content: one bit for each item of a leaf.
class ItemSet {
 public:
  explicit ItemSet(const DatasetNode& dataset) {
    const DatasetTree tree(dataset);
    for (const TreeLeaf& leaf : tree.leaves()) {
      bits_.try_emplace(leaf.node->fingerprint(),
                        leaf.node->length_now().readable);
    }
  }
  bool HasLeaf(uint64_t leaf) const { return bits_.contains(leaf); }
  void Add(uint64_t leaf, uint64_t item) { bits_.at(leaf)[item] = true; }
  bool Has(uint64_t leaf, uint64_t item) const {
    const std::vector<bool>& bits = bits_.at(leaf);
    return item < bits.size() && bits[item];
  }

 private:
  std::map<uint64_t, std::vector<bool>> bits_;
};

// A component as it is split.
struct Whole {
  ItemSet has;   // what is not dropped
  ItemSet read;  // of the epoch that it goes on with
};

class ReadBeforeSplit final : public DroppedItems {
 public:
  ReadBeforeSplit(std::vector<uint64_t> indices, uint64_t length)
      : read_(std::move(indices), length) {}

  absl::StatusOr<std::vector<uint64_t>> IndicesIn(
      uint32_t /*view*/, uint64_t /*epoch*/) const override {
    return read_.Omitted();  // of epoch 0, the only one that is asked for
  }
  bool leaves_out_of_whole_epoch() const override { return true; }

 private:
  const Omissions read_;
};

bool KeepsAllItems(const DatasetNode& node) {
  const auto* const made =
      dynamic_cast<const IndexMapDataset<TokenWindow>*>(&node);
  return made != nullptr && (TakesAnyLength(made->recipe().kind()) ||
                             made->recipe().kind() == "order");
}

// Whether an epoch has the same items as any other, each once.
absl::Status CheckIsFixed(const DatasetNode& node) {
  if (node.repeats_items()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", node.name(),
                     "' serves an item several times in an epoch, so what "
                     "has been read cannot be told; add the parts and retire "
                     "the component"));
  }
  const std::vector<NamedNode> children = node.children();
  if (!children.empty() && !IsSameInEachEpoch(node) && !KeepsAllItems(node)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "epochs of '", node.name(),
        "' have other items each; add the parts and retire the component"));
  }
  for (const NamedNode& child : children) {
    PONIENTE_RETURN_IF_ERROR(CheckIsFixed(*child.node));
  }
  return absl::OkStatus();
}

// What a component has, and has read of its epoch, before a sample.
absl::StatusOr<Whole> WholeAt(const Mixture& mixture,
                              const std::string& component, uint64_t samples) {
  const std::shared_ptr<const IndexMap> made = mixture.map();
  const auto* const map = dynamic_cast<const MixtureMap*>(made.get());
  if (map == nullptr) {
    return absl::FailedPreconditionError(
        "its length is not final yet, so it has no epochs");
  }
  PONIENTE_ASSIGN_OR_RETURN(const MixturePlan plan, mixture.plan());
  const MixtureMap::EpochSoFar so_far =
      map->ReadSoFar(plan.Find(component).value(), samples);
  const std::vector<NamedNode> children = mixture.children();
  const DatasetNode* const reads = children[so_far.child].node;
  // The epoch may be read to its end without what has been dropped; the view
  // that holds has it no more.
  const std::vector<ViewSpec>& views =
      FindComponent(mixture.recipe(), component)->views;
  size_t holds = 0;
  while (holds + 1 < views.size() && views[holds + 1].start <= samples) ++holds;
  const auto goes_on = std::find_if(
      children.begin(), children.end(), [&](const NamedNode& child) {
        return child.name == component && child.view == holds;
      });
  PONIENTE_RETURN_IF_ERROR(CheckIsFixed(*reads));
  Whole whole = {ItemSet(*goes_on->node), ItemSet(*reads)};
  bool is_twice = false;
  PONIENTE_RETURN_IF_ERROR(ForAllItems(
      *goes_on->node, 0, [&](uint32_t, uint64_t leaf, uint64_t item, uint64_t) {
        is_twice |= whole.has.Has(leaf, item);
        whole.has.Add(leaf, item);
      }));
  if (is_twice) {
    return absl::InvalidArgumentError(
        "it reads some items twice in an epoch, so what has been read cannot "
        "be told; add the parts and retire it");
  }
  PONIENTE_RETURN_IF_ERROR(
      ForEachItem(*reads, so_far.epoch, so_far.items,
                  [&](uint32_t, uint64_t leaf, uint64_t item, uint64_t) {
                    whole.read.Add(leaf, item);
                  }));
  return whole;
}

absl::Status CheckWhole(const Mixture& mixture, const std::string& component) {
  const Tokens whole = mixture.component(component);
  if (whole == nullptr) {
    std::vector<std::string> names;
    for (const NamedNode& child : mixture.children()) {
      names.push_back(child.name);
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "unknown component '", component, "'", DidYouMean(component, names)));
  }
  if (!whole->IsFinite()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", component,
                     "' is an endless mixture; split one of its components"));
  }
  const DatasetTree tree(*whole);
  uint64_t items = 0;
  for (const TreeLeaf& leaf : tree.leaves()) {
    items += std::min(leaf.node->length_now().readable, kMostItems + 1);
    if (items > kMostItems) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "'", component, "' has more than ", kMostItems,
          " items, and each of them would be looked at; add the parts and "
          "retire it"));
    }
    if (PackedItemsOf(*leaf.node) == nullptr) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "'", component,
        "' has windows of packed documents, which are others in each epoch: "
        "what it has read would be read again; add the parts and retire it, if "
        "that does not matter"));
  }
  return absl::OkStatus();
}

// Returns the part without what the component does not have.
absl::StatusOr<Tokens> PartOf(const Whole& whole, const Tokens& part) {
  PONIENTE_RETURN_IF_ERROR(CheckIsFixed(*part));
  const DatasetTree tree(*part);
  for (const TreeLeaf& leaf : tree.leaves()) {
    if (whole.has.HasLeaf(leaf.node->fingerprint())) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "it reads '", leaf.node->name(),
        "' in windows that the component does not have; a part reads the same "
        "files, with the same documents, and filters or slices their windows"));
  }
  std::vector<std::vector<uint64_t>> left_out(tree.leaves().size());
  PONIENTE_RETURN_IF_ERROR(ForAllItems(
      *part, 0, [&](uint32_t number, uint64_t leaf, uint64_t item, uint64_t) {
        if (!whole.has.Has(leaf, item)) left_out[number].push_back(item);
      }));
  return WithoutItemsOfLeaves(part, std::move(left_out));
}

// Returns the mixture with one more part.
absl::StatusOr<Tokens> WithPart(const Mixture& mixture, OpenedComponent part,
                                const MixtureDecision& decision,
                                const Whole& whole, uint64_t number) {
  MixtureComponent<TokenWindow>& component = part.part.component;
  PONIENTE_ASSIGN_OR_RETURN(component.dataset,
                            PartOf(whole, component.dataset));
  const std::string name = component.name;
  PONIENTE_ASSIGN_OR_RETURN(
      const Tokens added,
      mixture.WithAdded(std::move(part.part), decision, number));
  const auto& with_part = dynamic_cast<const Mixture&>(*added);
  // Under its seed in the mixture.
  const Tokens seeded = with_part.component(name);
  std::vector<uint64_t> read;
  PONIENTE_RETURN_IF_ERROR(ForAllItems(
      *seeded, 0, [&](uint32_t, uint64_t leaf, uint64_t item, uint64_t index) {
        if (whole.read.HasLeaf(leaf) && whole.read.Has(leaf, item)) {
          read.push_back(index);
        }
      }));
  if (read.empty()) return added;
  PONIENTE_RETURN_IF_ERROR(CheckOmissions(read.size()));
  return with_part.WithDrop(
      name, decision.start,
      std::make_shared<const ReadBeforeSplit>(std::move(read),
                                              seeded->length_now().readable),
      [](const Tokens& same) -> absl::StatusOr<Tokens> { return same; });
}

}  // namespace

absl::StatusOr<Tokens> Split(const Mixture& mixture,
                             const std::string& component,
                             std::span<const OpenedComponent> parts,
                             const MixtureDecision& decision, uint64_t number) {
  PONIENTE_RETURN_IF_ERROR(CheckWhole(mixture, component));
  absl::StatusOr<Whole> whole = WholeAt(mixture, component, decision.start);
  if (!whole.ok()) {
    return Prepend(whole.status(), absl::StrCat("split of '", component, "'"));
  }
  PONIENTE_ASSIGN_OR_RETURN(Tokens split, mixture.With({}));
  for (const OpenedComponent& part : parts) {
    absl::StatusOr<Tokens> next = WithPart(dynamic_cast<const Mixture&>(*split),
                                           part, decision, *whole, number);
    if (!next.ok()) {
      return Prepend(next.status(),
                     absl::StrCat("part '", part.part.component.name, "' of '",
                                  component, "'"));
    }
    split = *std::move(next);
  }
  MixtureDecision retired = decision;
  retired.retired = {component};
  return dynamic_cast<const Mixture&>(*split).With(std::span(&retired, 1));
}

absl::StatusOr<Tokens> WithPartsMasked(Tokens run, const RunChange& change) {
  const InfilledDataset* const infilled = InfilledOf(*run);
  if (infilled == nullptr) return run;
  const std::vector<MaskedDocuments> masks(
      infilled->infillings().masks().begin(),
      infilled->infillings().masks().end());
  const DatasetTree tree(*run);
  const std::vector<std::string> paths = NamePaths(*run);
  const std::string whole = JoinedPath(change.path, change.components[0]);
  Tokens masked_run = run;
  for (const MaskedDocuments& mask : masks) {
    if (!IsAtOrBelow(mask.path, whole)) continue;
    const auto masked = std::find(paths.begin(), paths.end(), mask.path);
    const uint64_t print =
        tree.leaves()[static_cast<size_t>(masked - paths.begin())]
            .node->fingerprint();
    std::set<std::string> of_parts;
    for (size_t leaf = 0; leaf < paths.size(); ++leaf) {
      if (tree.leaves()[leaf].node->fingerprint() != print) continue;
      for (const ComponentText& part : change.added) {
        if (IsAtOrBelow(paths[leaf], JoinedPath(change.path, part.name))) {
          of_parts.insert(paths[leaf]);
        }
      }
    }
    for (const std::string& path : of_parts) {
      MaskedDocuments of_part = mask;
      of_part.path = path;
      PONIENTE_ASSIGN_OR_RETURN(masked_run,
                                InfilledDataset::WithMask(masked_run, of_part));
    }
  }
  return masked_run;
}

}  // namespace poniente::internal
