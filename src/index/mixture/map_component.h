// SPDX-License-Identifier: Apache-2.0
// A component of a mixture: the views that it has one after the other, whether
// they fit the plan, and what its draws read.

#ifndef PONIENTE_INDEX_MIXTURE_MAP_COMPONENT_H_
#define PONIENTE_INDEX_MIXTURE_MAP_COMPONENT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "index/mixture/dropped_items.h"
#include "index/mixture/item_draws.h"
#include "index/mixture/quota_tree.h"
#include "index/mixture/stage_plan.h"
#include "index/permutation/item_order.h"
#include "poniente/extend/item_sets.h"
#include "poniente/mixture_plan.h"

namespace poniente::internal {

// Behind the last sample of an endless mixture.
inline constexpr uint64_t kEndOfDraws = QuotaTree::kMaxPosition;

// One view of a component: its dataset from some sample on.
struct MapComponentView {
  // First sample of the view, a start of a stage of the plan (unless
  // `dropped`); 0 for the first view.
  uint64_t start = 0;
  // Items per epoch; nullopt if endless.
  std::optional<uint64_t> length;
  // Order of each epoch; kNone if the component has an order of its own.
  // Ignored for endless views.
  OrderSpec order = {};
  // Continues the epoch of the view before (docs/index-math.md 2.8) instead of
  // beginning a new one. Both views must have the same sets.
  bool keeps_epoch = false;
  // Sets of the view's items; may be null if no view keeps the epoch. Needed
  // by Create() only.
  const ItemSets* sets = nullptr;
  // Items of the view before that this one does not have: the epoch in progress
  // is read to its end without them (docs/index-math.md 2.9), then this view
  // begins. `start` is then that of a block. Null: this view begins at once.
  std::shared_ptr<const DroppedItems> dropped = nullptr;
  // Whether there will be more items, in the places behind these; REQUIRES: it
  // is the only view, items are taken whole, and their order stays as it is
  // (kNone; kEras, and whole eras).
  bool grows = false;

  bool is_permuted() const {
    return length && order.kind != ShuffleKind::kNone;
  }
};

struct MapComponent {
  std::string name;
  // At least one view; starts increase strictly from 0. Several views are all
  // finite.
  std::vector<MapComponentView> views;
  // Epochs that may be begun, at least 1; nullopt: any number.
  std::optional<uint64_t> max_epochs;
  // Every item is one sample, whatever MixtureRules::parts says: the component
  // has views of its own for other lengths.
  bool is_whole = false;
};

struct MixtureRules {
  StopRule stop_rule = StopRule::kRestart;
  // How items are cut. Starts are starts of stages of the plan, increase
  // strictly, and begin with 0. Empty: items are taken whole.
  std::vector<PartsChange> parts;
  // Places that share an order of parts, as MixtureOptions::group_items.
  uint64_t group = 0;
};

// Returns InvalidArgument, naming the component, if its views do not fit each
// other or the plan, in which it has this number.
absl::Status CheckViews(const StagePlan& plan, const MapComponent& component,
                        size_t number);

// Makes all draws of a component. Errors of DroppedItems. REQUIRES:
// CheckViews() is ok.
absl::StatusOr<ItemDraws> MakeDraws(const StagePlan& plan,
                                    const MapComponent& component,
                                    uint32_t number, uint64_t seed,
                                    const MixtureRules& rules);

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_MIXTURE_MAP_COMPONENT_H_
