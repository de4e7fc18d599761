// SPDX-License-Identifier: Apache-2.0
// Named datasets in scheduled proportions, as an index map.
//
// The plan says which draw of which component a sample is; ItemDraws says which
// place of which epoch of the component a draw is. A component without an order
// of its own is then permuted, anew in each epoch. So an epoch covers every
// item of the component exactly once, wherever a run is restarted.

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
#include "index/mixture/draw_table.h"
#include "index/mixture/item_draws.h"
#include "index/mixture/map_component.h"
#include "index/mixture/stage_plan.h"
#include "index/permutation/item_order.h"
#include "poniente/extend/index_map.h"
#include "poniente/mixture_plan.h"
#include "poniente/permutation.h"

namespace poniente::internal {

// The index map of a mixture. Its children are the components in order of
// declaration, then their later views, component by component.
//
// An endless map has indices below 2^62 and one epoch: Resolve() ignores the
// epoch of a position, and Find() returns epoch 0. In a finite map, draws count
// on through the epochs.
//
// Determinism: the plan, names, lengths, seed and index decide; the order of
//     declaration never does.
// Ownership: shares the plan.
// Thread safety: immutable; any number of threads.
// Complexity: O(depth of the quota tree) per index; about 10 ns if a call asks
//     for a large part of a block.
class MixtureMap final : public IndexMap {
 public:
  // Returns the map. `components` are in order of declaration; their canonical
  // order is the plan's. InvalidArgument if their number differs from the
  // plan's, two have the same name, an empty one has a weight above 0 in some
  // stage, or the rules cannot be kept (the component that prevents it and the
  // sample are named).
  static absl::StatusOr<std::unique_ptr<MixtureMap>> Create(
      std::shared_ptr<const StagePlan> plan,
      std::vector<MapComponent> components, uint64_t seed,
      const MixtureRules& rules = MixtureRules());

  // While components grow: of the samples that are readable now, which are
  // whole blocks, and are the same once the lengths are final.
  std::optional<uint64_t> length() const override {
    return readable_ ? readable_ : length_;
  }
  // Returns true for a finite map if epochs of components are limited, or if
  // later draws have other parts or views than the first. Draws count on
  // through the epochs, so a second epoch would use the last parts and views
  // throughout.
  bool has_one_epoch() const override { return has_one_epoch_; }
  void Resolve(std::span<const Position> positions,
               std::span<ChildPosition> out) const override;
  std::optional<Position> Find(uint32_t child,
                               const Position& position) const override;
  void FindParts(uint32_t child, const Position& whole,
                 std::vector<FoundPart>* found) const override;
  std::optional<IndexSpan> SpanBelow(uint32_t child,
                                     const IndexSpan& span) const override;
  // Returns the items that the component of the child has been drawn from up to
  // the end of the block that the span ends in (of its last era, if it has
  // eras), if it has one epoch; nullopt if there are none. Unlike SpanBelow(),
  // does not depend on lengths.
  std::optional<IndexSpan> DrawnOf(uint32_t child, const IndexSpan& span) const;
  // Covers how the drawn components are permuted and where their views begin;
  // PrefixOf() covers the weights.
  std::optional<uint64_t> PrefixParameters(
      const IndexSpan& span) const override;

  // The weights, stages, block size and cuts up to the end of the block that
  // the span's last position lies in.
  struct Prefix {
    uint64_t end = 0;
    // Stages begun before that end, including steps of ramps and cuts.
    uint64_t stages = 0;
    // Hash of them, with the names of components that have a weight; does not
    // depend on the seed.
    uint64_t hash = 0;
  };
  Prefix PrefixOf(const IndexSpan& span) const;

  const StagePlan& plan() const { return *plan_; }
  const CanonicalOrder& order() const { return order_; }

  // Returns the canonical number of the component that child number `child` is
  // a view of. REQUIRES: the child exists.
  uint32_t ComponentOf(uint32_t child) const {
    return children_[child].component;
  }

  uint64_t seed() const { return seed_; }
  // Returns the draws of a component, by its canonical number.
  const ItemDraws& draws(uint32_t component) const {
    return components_[component].draws;
  }
  // Returns whether a component grows.
  bool grows() const { return readable_.has_value(); }
  // Returns the child that must grow before more samples can be read; nullopt
  // if none does.
  std::optional<uint32_t> waits_for() const { return waits_for_; }
  // Returns which view of its component the child is. REQUIRES: the child
  // exists.
  uint32_t ViewOf(uint32_t child) const { return children_[child].view; }
  const MapComponentView& view(uint32_t child) const {
    return components_[children_[child].component].views[children_[child].view];
  }

  // Items of a child, in the epoch that its component is in, each once.
  struct EpochSoFar {
    uint32_t child = 0;
    uint64_t epoch = 0;
    std::vector<uint64_t> items;
  };
  // Returns which items the first `samples` samples have read, or any part of
  // them, of the epoch that a component goes on with, and which that epoch
  // leaves out. REQUIRES: the component
  // is finite, `samples` is the first of a block.
  EpochSoFar ReadSoFar(uint32_t component, uint64_t samples) const;

  // Returns whether some component may begin only a limited number of epochs.
  bool limits_epochs() const;
  // Returns why the map has an end; empty if it has none.
  const std::string& end_reason() const { return end_reason_; }

 private:
  class Resolver;
  struct Component {
    std::string name;
    std::vector<MapComponentView> views;
    std::vector<uint32_t> children;  // of the views
    std::optional<uint64_t> max_epochs;
    ItemDraws draws;
    // For a finite mixture: draws per epoch of the mixture.
    uint64_t draws_per_epoch = 0;
  };
  struct Child {
    uint32_t component;
    uint32_t view;
  };
  MixtureMap(std::shared_ptr<const StagePlan> plan, CanonicalOrder order)
      : plan_(std::move(plan)), order_(std::move(order)) {}

  absl::Status AddComponents(std::vector<MapComponent> components,
                             uint64_t seed, const MixtureRules& rules);
  absl::Status FindEnd(const MixtureRules& rules);
  void FindReadable();
  bool FindWhetherOneEpoch() const;
  absl::StatusOr<uint64_t> EndOfAll() const;
  static uint64_t NextId();
  void AddDrops(const Component& component, const IndexSpan& span,
                KeyHash* hash) const;
  // Returns the sample at which the component would begin the epoch; nullopt if
  // it never does.
  std::optional<uint64_t> SampleOfEpoch(const Component& component,
                                        uint64_t epoch) const;
  uint32_t NumberOf(const Component& component) const {
    return static_cast<uint32_t>(&component - components_.data());
  }

  // Returns the order of one epoch of a finite view.
  static ItemOrder EpochOrder(const Component& component, uint32_t view,
                              uint64_t epoch) {
    return ItemOrder(*component.views[view].length,
                     component.draws.EpochKey(epoch),
                     component.views[view].order);
  }
  // Returns the draws of earlier epochs of this mixture.
  uint64_t DrawsBefore(const Component& component, uint64_t epoch) const {
    return length_ ? epoch * component.draws_per_epoch : 0;
  }
  // Returns the draws before the end of the block that the position lies in.
  uint64_t DrawsUpTo(const Component& component,
                     const Position& position) const;
  // Returns the draws that read the item or parts of it; none if there is no
  // such item.
  std::vector<ItemDraws::Reading> ReadingsOf(uint32_t child,
                                             const Position& position) const;
  // Returns the position of this map that is draw `ordinal` of the component.
  std::optional<Position> PositionOf(const Component& component,
                                     uint64_t ordinal,
                                     const Position& position) const;

  std::shared_ptr<const StagePlan> plan_;
  CanonicalOrder order_;
  std::vector<Component> components_;  // in canonical order
  std::vector<Child> children_;
  DrawTable table_;
  std::optional<uint64_t> length_;
  std::optional<uint64_t> readable_;  // unset if no component grows
  std::optional<uint32_t> waits_for_;
  bool has_one_epoch_ = false;
  std::string end_reason_;
  MixtureRules rules_;
  uint64_t seed_ = 0;
  // Unique among all maps of the process; never 0.
  const uint64_t id_ = NextId();
};

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_MIXTURE_MIXTURE_MAP_H_
