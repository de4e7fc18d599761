// SPDX-License-Identifier: Apache-2.0
// The flow of nodes with one child: slices, repeats, shuffles, filters, orders
// and functions.
#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/plan/plan_flow.h"
#include "index/maps/omission_map.h"
#include "index/maps/order_map.h"
#include "index/maps/repeat_map.h"
#include "index/maps/shuffle_map.h"
#include "index/maps/slice_map.h"

namespace poniente::internal {
namespace {

// How positions of the child follow from a node's.
struct Passing {
  // What is added to positions on the way down.
  double shift = 0;
  // In chunks of how many they are put in another order on the way.
  double order = 1;
  // Of each `below` positions of the child `here` are read, not known which.
  double below = 0;
  double here = 0;
  // Nothing is known.
  bool is_lost = false;
};

class PassFlow final : public NodeFlow {
 public:
  PassFlow(Flow above, Flow below, const Passing& passing)
      : NodeFlow(std::move(above)),
        below_(std::move(below)),
        passing_(passing) {}

  Flow Child(uint32_t /*child*/) const override { return below_; }

 protected:
  std::optional<Reached> Above(uint32_t /*child*/,
                               const Reached& below) const override {
    if (passing_.is_lost) return Reached{0, false};
    const double earliest = std::max(0.0, below.earliest - passing_.shift);
    if (passing_.below > 0) {
      const double begin = std::floor(earliest / passing_.below);
      return Reached{begin * passing_.here,
                     below.all_later && earliest == begin * passing_.below};
    }
    // Chunks begin with each epoch.
    const double rest = SplitEpochs(earliest, flow_.per_epoch).rest;
    const double begin = earliest - std::fmod(rest, passing_.order);
    return Reached{begin, below.all_later && begin == earliest};
  }

 private:
  const Flow below_;
  const Passing passing_;
};

// A mark below a node that puts each `order` positions into another order.
void Shuffle(double order, Flow* flow) {
  for (FlowMark& mark : flow->marks) {
    const double rest = SplitEpochs(mark.at, flow->per_epoch).rest;
    mark.is_prefix = mark.is_prefix && std::fmod(rest, order) == 0;
  }
  flow->chunk = std::max(flow->chunk, order);
}

// Which positions are read is not known, only how many.
Passing Forget(const Flow& flow, const LengthState& below, Flow* child) {
  child->first = 0;
  child->per_epoch.reset();
  child->chunk = 1;
  for (FlowMark& mark : child->marks) {
    mark.is_exact = mark.is_prefix = mark.at == 0;
  }
  if (below.is_endless) return {.is_lost = true};
  child->per_epoch = below.readable;
  child->chunk = static_cast<double>(below.readable);
  return {.below = child->chunk,
          .here = static_cast<double>(flow.per_epoch.value_or(below.readable))};
}

uint64_t FirstIndex(const IndexMap& map) {
  const Position first;
  ChildPosition below;
  map.Resolve({&first, 1}, {&below, 1});
  return below.position.index;
}

}  // namespace

std::unique_ptr<NodeFlow> MakePassFlow(std::shared_ptr<const IndexMap> map,
                                       const LengthState& below, Flow flow) {
  Flow child = flow;
  Passing passing;
  const bool is_all = flow.first == 0 && flow.per_epoch == map->length();
  const auto* shuffle = dynamic_cast<const ShuffleMap*>(map.get());
  if (dynamic_cast<const SliceMap*>(map.get()) != nullptr) {
    const bool is_empty = map->length() == uint64_t{0};
    if (flow.per_epoch != uint64_t{0} && !is_empty) {
      child.first += FirstIndex(*map);
    }
  } else if (dynamic_cast<const EndlessSliceMap*>(map.get()) != nullptr) {
    const auto shift = static_cast<double>(FirstIndex(*map));
    if (is_all) {
      for (FlowMark& mark : child.marks) mark.at += shift;
      child.per_epoch.reset();
      child.chunk_begin = shift;
    } else {
      Forget(flow, below, &child);
      passing.below = static_cast<double>(*map->length());
      passing.here = static_cast<double>(flow.per_epoch.value_or(0));
    }
    passing.shift = shift;
  } else if (dynamic_cast<const RepeatMap*>(map.get()) != nullptr && is_all) {
    child.per_epoch = below.readable;
  } else if (is_all && (shuffle != nullptr ||
                        dynamic_cast<const OrderMap*>(map.get()) != nullptr)) {
    passing.order = static_cast<double>(below.readable);
    if (shuffle != nullptr && shuffle->era_items() > 1) {
      passing.order = static_cast<double>(shuffle->era_items());
    }
    Shuffle(passing.order, &child);
  } else if (!is_all || below.is_endless == map->length().has_value() ||
             map->length().value_or(0) != below.readable) {
    passing = Forget(flow, below, &child);
    passing.is_lost = dynamic_cast<const RepeatMap*>(map.get()) != nullptr;
    // A pass over what dropped items leave is a pass over the child.
    if (is_all && passing.here > 0 &&
        dynamic_cast<const OmissionMap*>(map.get()) != nullptr) {
      const double left = passing.here / passing.below;
      for (FlowMark& mark : child.marks) mark.at /= left;
      for (double& parts : child.parts) parts *= left;
    }
  }
  return std::make_unique<PassFlow>(std::move(flow), std::move(child), passing);
}

}  // namespace poniente::internal
