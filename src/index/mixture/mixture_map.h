// SPDX-License-Identifier: Apache-2.0
// Named datasets in scheduled proportions, as an index map.
//
// The plan says which draw of which component a sample is; ItemDraws which
// place of which epoch of the component a draw is. A component without an order
// of its own is then permuted, each epoch anew, so that an epoch covers it
// exactly from any point of restart.

#ifndef PONIENTE_INDEX_MIXTURE_MIXTURE_MAP_H_
#define PONIENTE_INDEX_MIXTURE_MIXTURE_MAP_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "index/mixture/canonical_order.h"
#include "index/mixture/item_draws.h"
#include "index/mixture/stage_plan.h"
#include "index/permutation/item_order.h"
#include "poniente/extend/index_map.h"
#include "poniente/mixture_plan.h"
#include "poniente/permutation.h"

namespace poniente::internal {

// What a component is from some sample on.
struct MapComponentView {
  // A start of a stage of the plan; 0 for the first view.
  uint64_t start = 0;
  // Items per epoch; nullopt if endless.
  std::optional<uint64_t> length;
  // Of each epoch. kNone where the component has an order of its own. Ignored
  // for endless ones.
  OrderSpec order = {};

  bool is_permuted() const {
    return length && order.kind != ShuffleKind::kNone;
  }
};

struct MapComponent {
  std::string name;
  // At least one, starts strictly increasing from 0; several are all finite.
  std::vector<MapComponentView> views;
  // Epochs that may be begun, at least 1; nullopt: any number.
  std::optional<uint64_t> max_epochs;
};

struct MixtureRules {
  StopRule stop_rule = StopRule::kRestart;
  // Starts are starts of stages of the plan, strictly increasing, the first 0.
  // Empty: items are taken whole.
  std::vector<PartsChange> parts;
  // As MixtureOptions::group_items.
  uint64_t group = 0;
};

// Children: first the components in the order of declaration, then their later
// views, component by component.
//
// Determinism: the plan, names, lengths, seed and index decide; the order of
//     declaration never does.
// Ownership: shares the plan.
// Thread safety: immutable; any number of threads.
// Complexity: O(depth of the quota tree) per index; about 10 ns where a call
//     asks for a good part of a block.
//
// Endless: indices are below 2^62. An endless dataset has one epoch: Resolve()
// takes no notice of the epoch of a position, and Find() gives epoch 0.
// Finite: draws count on through the epochs.
class MixtureMap final : public IndexMap {
 public:
  // `components` in the order of declaration; their canonical order is the
  // plan's. InvalidArgument if their number is not the plan's, if two have the
  // same name, if an empty one has a weight above 0 in some stage, or if the
  // rules cannot be kept: the component that prevents it and the sample where
  // are named.
  static absl::StatusOr<std::unique_ptr<MixtureMap>> Create(
      std::shared_ptr<const StagePlan> plan,
      std::vector<MapComponent> components, uint64_t seed,
      const MixtureRules& rules = MixtureRules());

  std::optional<uint64_t> length() const override { return length_; }
  // If epochs of components are limited, or if draws are of another kind later
  // than at first: those of a second epoch would go on with the last kind.
  bool has_one_epoch() const override { return has_one_epoch_; }
  void Resolve(std::span<const Position> positions,
               std::span<ChildPosition> out) const override;
  std::optional<Position> Find(uint32_t child,
                               const Position& position) const override;
  void FindParts(uint32_t child, const Position& whole,
                 std::vector<FoundPart>* found) const override;
  std::optional<IndexSpan> SpanBelow(uint32_t child,
                                     const IndexSpan& span) const override;
  // How the components drawn are permuted and where their views begin; the
  // weights are PrefixOf()'s.
  std::optional<uint64_t> PrefixParameters(
      const IndexSpan& span) const override;

  // Weights, stages, block size and cuts, up to the end of the block that the
  // span's last position lies in.
  struct Prefix {
    uint64_t end = 0;
    // Begun before the end, steps of ramps and cuts among them.
    uint64_t stages = 0;
    // Names included of what has a weight; does not depend on the seed.
    uint64_t hash = 0;
  };
  Prefix PrefixOf(const IndexSpan& span) const;

  const StagePlan& plan() const { return *plan_; }
  const CanonicalOrder& order() const { return order_; }

  // The component that child number `child` is a view of, by its canonical
  // number. REQUIRES: the child exists.
  uint32_t ComponentOf(uint32_t child) const {
    return children_[child].component;
  }

  uint64_t seed() const { return seed_; }
  // Of a component, by its canonical number.
  const ItemDraws& draws(uint32_t component) const {
    return components_[component].draws;
  }
  // Which view of its component the child is. REQUIRES: the child exists.
  uint32_t ViewOf(uint32_t child) const { return children_[child].view; }
  const MapComponentView& view(uint32_t child) const {
    return components_[children_[child].component].views[children_[child].view];
  }

  // Some component may begin a limited number of epochs only.
  bool limits_epochs() const;
  // Why the map has an end; empty if it has none.
  const std::string& end_reason() const { return end_reason_; }

 private:
  class Resolver;
  struct Component {
    std::string name;
    std::vector<MapComponentView> views;
    std::vector<uint32_t> children;  // of the views
    std::optional<uint64_t> max_epochs;
    ItemDraws draws;
    // Of a finite mixture: draws per epoch of it.
    uint64_t draws_per_epoch = 0;
  };
  struct Child {
    uint32_t component;
    uint32_t view;
  };
  // Of a component that takes whole items of one view in a full shuffle, all
  // that its draws need, so that those of a block stay in the fast caches.
  struct Simple {
    KeyHash key;          // add the epoch
    uint64_t length = 0;  // 0: the component is not of this kind
    uint32_t child = 0;
  };

  MixtureMap(std::shared_ptr<const StagePlan> plan, CanonicalOrder order)
      : plan_(std::move(plan)), order_(std::move(order)) {}

  absl::Status AddComponents(std::vector<MapComponent> components,
                             uint64_t seed, const MixtureRules& rules);
  absl::Status FindEnd(const MixtureRules& rules);
  bool FindWhetherOneEpoch() const;
  absl::StatusOr<uint64_t> EndOfAll() const;
  // Where draws of the component would begin the epoch.
  static Simple SimpleOf(const Component& component);
  static uint64_t NextId();
  std::optional<uint64_t> SampleOfEpoch(const Component& component,
                                        uint64_t epoch) const;
  uint32_t NumberOf(const Component& component) const {
    return static_cast<uint32_t>(&component - components_.data());
  }

  // The order of one epoch of a finite view.
  static ItemOrder EpochOrder(const Component& component, uint32_t view,
                              uint64_t epoch) {
    return ItemOrder(*component.views[view].length,
                     component.draws.EpochKey(epoch),
                     component.views[view].order);
  }
  // Draws of earlier epochs of this mixture.
  uint64_t DrawsBefore(const Component& component, uint64_t epoch) const {
    return length_ ? epoch * component.draws_per_epoch : 0;
  }
  // The draws that read the item, or parts of it; none if there is no such
  // item.
  std::vector<ItemDraws::Reading> ReadingsOf(uint32_t child,
                                             const Position& position) const;
  // The position of this map that is draw `ordinal` of the component.
  std::optional<Position> PositionOf(const Component& component,
                                     uint64_t ordinal,
                                     const Position& position) const;

  std::shared_ptr<const StagePlan> plan_;
  CanonicalOrder order_;
  std::vector<Component> components_;  // In canonical order.
  std::vector<Child> children_;
  std::vector<Simple> simple_;  // By component.
  std::optional<uint64_t> length_;
  bool has_one_epoch_ = false;
  std::string end_reason_;
  MixtureRules rules_;
  uint64_t seed_ = 0;
  // Never that of another map of the process, and not 0.
  const uint64_t id_ = NextId();
};

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_MIXTURE_MIXTURE_MAP_H_
