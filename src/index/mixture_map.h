// SPDX-License-Identifier: Apache-2.0
// Named datasets in scheduled proportions, as an index map.
//
// The plan says which draw of which component a sample is. Draw n of a finite
// component is place n mod length of its epoch n / length; a component without
// an order of its own is then permuted, each epoch anew, so that an epoch
// covers it exactly from any point of restart. Draw n of an endless component
// is its item n.

#ifndef PONIENTE_INDEX_MIXTURE_MAP_H_
#define PONIENTE_INDEX_MIXTURE_MAP_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "index/canonical_order.h"
#include "index/stage_plan.h"
#include "poniente/index_map.h"
#include "poniente/permutation.h"

namespace poniente::internal {

struct MixtureComponent {
  std::string name;
  // Items per epoch; nullopt if endless.
  std::optional<uint64_t> length;
  // Permute each epoch of the component. False where it has an order of its
  // own. Ignored for endless ones.
  bool shuffle = true;
};

// Determinism: the plan, names, lengths, seed and index decide; the order of
//     declaration never does.
// Ownership: shares the plan.
// Thread safety: immutable; any number of threads.
// Complexity: O(depth of the quota tree) per index; about 10 ns where a call
//     asks for a good part of a block.
//
// Endless: indices are below 2^62. An endless dataset has one epoch: Resolve()
// takes no notice of the epoch of a position, and Find() gives epoch 0.
class MixtureMap final : public IndexMap {
 public:
  // `components` in the order of declaration; their canonical order is the
  // plan's. InvalidArgument if their number is not the plan's, if two have the
  // same name, or if an empty one has a weight above 0 in some stage.
  static absl::StatusOr<std::unique_ptr<MixtureMap>> Create(
      std::shared_ptr<const StagePlan> plan,
      std::vector<MixtureComponent> components, uint64_t seed);

  std::optional<uint64_t> length() const override { return std::nullopt; }
  void Resolve(std::span<const Position> positions,
               std::span<ChildPosition> out) const override;
  std::optional<Position> Find(uint32_t child,
                               const Position& position) const override;

  const StagePlan& plan() const { return *plan_; }
  const CanonicalOrder& order() const { return order_; }

 private:
  class Resolver;

  MixtureMap(std::shared_ptr<const StagePlan> plan, CanonicalOrder order,
             std::vector<MixtureComponent> components, uint64_t seed);

  // The order of one epoch of a finite component, by its canonical number.
  Permutation EpochOrder(uint32_t component, uint64_t epoch) const;

  std::shared_ptr<const StagePlan> plan_;
  CanonicalOrder order_;
  std::vector<MixtureComponent> components_;  // In canonical order.
  uint64_t seed_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_MIXTURE_MAP_H_
