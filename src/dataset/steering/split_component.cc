// SPDX-License-Identifier: Apache-2.0
#include "dataset/steering/split_component.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "dataset/leaf_items.h"
#include "dataset/steering/dropped_source.h"
#include "index/mixture/dropped_items.h"
#include "index/mixture/mixture_map.h"
#include "poniente/dataset_tree.h"
#include "poniente/extend/piecewise_items.h"
#include "util/nearest_name.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

using Tokens = DatasetPtr<TokenWindow>;
using Mixture = MixtureDataset<TokenWindow>;

// The items of leaves, which are known by the fingerprints of their content:
// those that a component has read of an epoch.
class ReadItems {
 public:
  // `read`: positions of the component.
  static absl::StatusOr<std::shared_ptr<const ReadItems>> Of(
      const DatasetNode& component, const std::vector<Position>& read) {
    const DatasetTree tree(component);
    auto made = std::make_shared<ReadItems>();
    for (const TreeLeaf& leaf : tree.leaves()) {
      const auto [known, is_new] =
          made->items_.try_emplace(leaf.node->fingerprint());
      if (is_new) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "it reads '", leaf.path, "' twice; split what lies below it"));
    }
    std::vector<LeafPosition> items(read.size());
    PONIENTE_RETURN_IF_ERROR(tree.Resolve(read, items));
    for (const LeafPosition& item : items) {
      made->items_[tree.leaves()[item.leaf].node->fingerprint()].push_back(
          item.position.index);
    }
    return std::shared_ptr<const ReadItems>(std::move(made));
  }

  // Returns the error of a part that reads anything else.
  absl::Status CheckPart(const DatasetNode& part) const {
    const DatasetTree tree(part);
    for (const TreeLeaf& leaf : tree.leaves()) {
      if (items_.contains(leaf.node->fingerprint())) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "it reads '", leaf.node->name(),
          "', in windows that the component does not have; a part reads the "
          "same files, filtered otherwise"));
    }
    return absl::OkStatus();
  }

  // Returns where a part serves these items in an epoch.
  absl::StatusOr<std::vector<uint64_t>> IndicesIn(const DatasetNode& part,
                                                  uint64_t epoch) const {
    const DatasetTree tree(part);
    std::vector<uint64_t> indices;
    for (uint32_t leaf = 0; leaf < tree.leaves().size(); ++leaf) {
      const auto items = items_.find(tree.leaves()[leaf].node->fingerprint());
      if (items == items_.end()) continue;
      for (const uint64_t item : items->second) {
        PONIENTE_ASSIGN_OR_RETURN(
            const std::optional<Position> found,
            tree.Find({leaf, {.index = item, .epoch = epoch}}));
        if (found.has_value()) indices.push_back(found->index);
      }
    }
    return indices;
  }

 private:
  std::map<uint64_t, std::vector<uint64_t>> items_;  // by leaf
};

class ReadBeforeSplit final : public DroppedItems {
 public:
  ReadBeforeSplit(Tokens part, std::shared_ptr<const ReadItems> read)
      : part_(std::move(part)), read_(std::move(read)) {}

  absl::StatusOr<std::vector<uint64_t>> IndicesIn(
      uint32_t /*view*/, uint64_t epoch) const override {
    return read_->IndicesIn(*part_, epoch);
  }
  bool leaves_out_of_whole_epoch() const override { return true; }

 private:
  const Tokens part_;
  const std::shared_ptr<const ReadItems> read_;
};

// What a component has read of its epoch, in the leaves of its view.
absl::StatusOr<std::shared_ptr<const ReadItems>> ReadBefore(
    const Mixture& mixture, const std::string& component, uint64_t samples) {
  const std::shared_ptr<const IndexMap> made = mixture.map();
  const auto* const map = dynamic_cast<const MixtureMap*>(made.get());
  if (map == nullptr) {
    return absl::FailedPreconditionError(
        "its length is not final yet, so it has no epochs");
  }
  PONIENTE_ASSIGN_OR_RETURN(const MixturePlan plan, mixture.plan());
  const MixtureMap::EpochSoFar read =
      map->ReadSoFar(plan.Find(component).value(), samples);
  return ReadItems::Of(*mixture.children()[read.child].node, read.positions);
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
  for (const TreeLeaf& leaf : tree.leaves()) {
    if (PackedItemsOf(*leaf.node) == nullptr) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "'", component,
        "' has windows of packed documents, which are others in each epoch: "
        "what it has read would be read again; add the parts and retire it, if "
        "that does not matter"));
  }
  return absl::OkStatus();
}

// Returns the mixture with one more part.
absl::StatusOr<Tokens> WithPart(const Mixture& mixture, OpenedComponent part,
                                const MixtureDecision& decision,
                                const std::shared_ptr<const ReadItems>& read,
                                const DropsOf& drops, uint64_t number) {
  MixtureComponent<TokenWindow>& component = part.part.component;
  PONIENTE_RETURN_IF_ERROR(read->CheckPart(*component.dataset));
  if (!part.part.views.empty()) {
    return absl::InvalidArgumentError("it has packed windows");
  }
  PONIENTE_ASSIGN_OR_RETURN(component.dataset,
                            drops.Without(component.dataset));
  const std::string name = component.name;
  PONIENTE_ASSIGN_OR_RETURN(
      const Tokens added,
      mixture.WithAdded(std::move(part.part), decision, number));
  const auto& with_part = dynamic_cast<const Mixture&>(*added);
  // Under its seed in the mixture.
  const Tokens seeded = with_part.component(name);
  PONIENTE_ASSIGN_OR_RETURN(const std::vector<uint64_t> left_out,
                            read->IndicesIn(*seeded, 0));
  if (left_out.empty()) return added;
  return with_part.WithDrop(
      name, decision.start,
      std::make_shared<const ReadBeforeSplit>(seeded, read),
      [](const Tokens& same) -> absl::StatusOr<Tokens> { return same; });
}

}  // namespace

absl::StatusOr<Tokens> Split(const Mixture& mixture,
                             const std::string& component,
                             std::span<const OpenedComponent> parts,
                             const MixtureDecision& decision, uint64_t number) {
  PONIENTE_RETURN_IF_ERROR(CheckWhole(mixture, component));
  PONIENTE_ASSIGN_OR_RETURN(const std::shared_ptr<const ReadItems> read,
                            ReadBefore(mixture, component, decision.start));
  PONIENTE_ASSIGN_OR_RETURN(const DropsOf drops,
                            DropsOf::Component(mixture, component));
  PONIENTE_ASSIGN_OR_RETURN(Tokens split, mixture.With({}));
  for (const OpenedComponent& part : parts) {
    absl::StatusOr<Tokens> next = WithPart(dynamic_cast<const Mixture&>(*split),
                                           part, decision, read, drops, number);
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

}  // namespace poniente::internal
