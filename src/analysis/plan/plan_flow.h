// SPDX-License-Identifier: Apache-2.0
// How much of each node a run reads, from the maps alone: what the root's first
// samples take of its children, and so on down. No sample is looked up but
// those of blocks and epochs that a mark cuts, and of these few.

#ifndef PONIENTE_ANALYSIS_PLAN_PLAN_FLOW_H_
#define PONIENTE_ANALYSIS_PLAN_PLAN_FLOW_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "poniente/extend/dataset_node.h"

namespace poniente::internal {

// Positions of a node, counted from the first of epoch 0 on through all epochs,
// that the run has read at some point. Exact below 2^53.
struct FlowMark {
  double at = 0;
  // Else expected: so many of an order without preference.
  bool is_exact = true;
  // They are the node's first ones.
  bool is_prefix = true;
};

// What a run reads of a node, by intervals of the run.
struct Flow {
  // Interval i reads from marks[2 * i] to marks[2 * i + 1]. A change of length
  // skips what lies between one interval's end and the next one's begin.
  std::vector<FlowMark> marks;
  // By interval: samples that a position holds.
  std::vector<double> parts;
  // Of each epoch, positions [first, first + per_epoch) are read; nullopt: the
  // node is endless.
  uint64_t first = 0;
  std::optional<uint64_t> per_epoch;
  // Where a mark is no prefix: from chunk_begin on, the order within each chunk
  // of so many positions is not known.
  double chunk = 1;
  double chunk_begin = 0;

  size_t intervals() const { return parts.size(); }
  double Positions(size_t interval) const {
    return marks[2 * interval + 1].at - marks[2 * interval].at;
  }
  double Samples(size_t interval) const;
  bool IsExact() const;
};

// A bound for the first position of a node that reads a second epoch: it is not
// before `earliest`.
struct Reached {
  double earliest = 0;
  // Every position from there on does.
  bool all_later = false;
};

// Positions that may still be looked up.
struct LookUps {
  uint64_t left = 0;

  bool Take(uint64_t positions);
};

// The flows of a node's children.
//
// Ownership: borrows the node, the budget, and the flow of the node above.
class NodeFlow {
 public:
  // `children` are the node's; `above` is its parent, whose child number
  // `place` it is; null for the root. FailedPrecondition while lengths are not
  // final.
  static absl::StatusOr<std::unique_ptr<NodeFlow>> Create(
      const DatasetNode& node, const std::vector<NamedNode>& children,
      Flow flow, const NodeFlow* above, uint32_t place, LookUps* look_ups);

  virtual ~NodeFlow();
  NodeFlow(const NodeFlow&) = delete;
  NodeFlow& operator=(const NodeFlow&) = delete;

  virtual Flow Child(uint32_t child) const = 0;

  // Of the root: a bound for its first sample that reaches `below` of the
  // child. nullopt if none ever does.
  std::optional<Reached> FirstSample(uint32_t child,
                                     const Reached& below) const;

  // Positions of the child that changes of length skip before the run ends.
  virtual double Skipped(uint32_t child) const;
  // The child is a component that no stage gives a weight.
  virtual bool IsWeightless(uint32_t child) const;

  const Flow& flow() const { return flow_; }

 protected:
  explicit NodeFlow(Flow flow) : flow_(std::move(flow)) {}

  // The same one level up: in positions of this node.
  virtual std::optional<Reached> Above(uint32_t child,
                                       const Reached& below) const = 0;

  // Reads per child among positions [begin, end) of an epoch; empty if they are
  // too many to look up.
  static std::vector<double> CountBelow(const IndexMap& map, size_t children,
                                        uint64_t epoch, uint64_t begin,
                                        uint64_t end, LookUps* look_ups);

  const Flow flow_;

 private:
  const NodeFlow* above_ = nullptr;
  uint32_t place_ = 0;
};

// Nodes that draw; null if the map is of another kind.
std::unique_ptr<NodeFlow> MakeDrawsFlow(std::shared_ptr<const IndexMap> map,
                                        size_t children, Flow flow,
                                        LookUps* look_ups);
// Nodes with one child.
std::unique_ptr<NodeFlow> MakePassFlow(std::shared_ptr<const IndexMap> map,
                                       const LengthState& below, Flow flow);
// Nodes with several children, one after the other or all in one order.
std::unique_ptr<NodeFlow> MakeJoinFlow(std::shared_ptr<const IndexMap> map,
                                       const std::vector<NamedNode>& children,
                                       Flow flow, LookUps* look_ups);

// Splits positions into whole epochs and what is left.
struct Epochs {
  double whole = 0;
  double rest = 0;
};
Epochs SplitEpochs(double at, std::optional<uint64_t> per_epoch);

}  // namespace poniente::internal

#endif  // PONIENTE_ANALYSIS_PLAN_PLAN_FLOW_H_
