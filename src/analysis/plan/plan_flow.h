// SPDX-License-Identifier: Apache-2.0
// Computes how much of each node a run reads, from the maps alone: what the
// root's first samples take of its children, and so on down the tree. Samples
// are looked up only in blocks and epochs that a mark cuts, and only a limited
// number of them.

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

// How many positions of a node the run has read at some point, counted from the
// first of epoch 0 on through all epochs. Exact below 2^53.
struct FlowMark {
  double at = 0;
  // False: `at` is the expected number, as if the order were random.
  bool is_exact = true;
  // The positions read are the node's first ones.
  bool is_prefix = true;
};

// What a run reads of a node, by intervals of the run.
struct Flow {
  // Interval i reads from marks[2 * i] to marks[2 * i + 1]. A change of length
  // skips what lies between one interval's end and the next one's begin.
  std::vector<FlowMark> marks;
  // For each interval: the samples that a position holds.
  std::vector<double> parts;
  // Positions [first, first + per_epoch) of each epoch are read. nullopt if the
  // node is endless.
  uint64_t first = 0;
  std::optional<uint64_t> per_epoch;
  // For marks that are not prefixes: the order within each chunk of this many
  // positions, from chunk_begin on, is not known.
  double chunk = 1;
  double chunk_begin = 0;

  size_t intervals() const { return parts.size(); }
  double Positions(size_t interval) const {
    return marks[2 * interval + 1].at - marks[2 * interval].at;
  }
  double Samples(size_t interval) const;
  bool IsExact() const;
};

// A bound for the first position of a node that reads a second epoch.
struct Reached {
  double earliest = 0;
  // Whether every position from `earliest` on reads a second epoch.
  bool all_later = false;
};

// The number of positions that may still be looked up.
struct LookUps {
  uint64_t left = 0;

  bool Take(uint64_t positions);
};

// The flows of a node's children.
//
// Ownership: borrows the node, the budget, and the flow of the node above.
class NodeFlow {
 public:
  // Makes the flows of a node's children. `children` are those of the node.
  // `above` is the flow of its parent (null for the root), and `place` the
  // node's number among the parent's children. FailedPrecondition while lengths
  // are not final.
  static absl::StatusOr<std::unique_ptr<NodeFlow>> Create(
      const DatasetNode& node, const std::vector<NamedNode>& children,
      Flow flow, const NodeFlow* above, uint32_t place, LookUps* look_ups);

  virtual ~NodeFlow();
  NodeFlow(const NodeFlow&) = delete;
  NodeFlow& operator=(const NodeFlow&) = delete;

  virtual Flow Child(uint32_t child) const = 0;

  // Returns a bound for the first sample of the root that reaches `below` of
  // the child; nullopt if no sample does.
  std::optional<Reached> FirstSample(uint32_t child,
                                     const Reached& below) const;

  // Returns the positions of the child that changes of length skip before the
  // run ends.
  virtual double Skipped(uint32_t child) const;
  // Returns whether the child is a component that has no weight in any stage.
  virtual bool IsWeightless(uint32_t child) const;

  const Flow& flow() const { return flow_; }

 protected:
  explicit NodeFlow(Flow flow) : flow_(std::move(flow)) {}

  // Returns the same bound one level up, in positions of this node.
  virtual std::optional<Reached> Above(uint32_t child,
                                       const Reached& below) const = 0;

  // Counts the reads of each child among positions [begin, end) of an epoch.
  // Returns an empty vector if there are too many positions to look up.
  static std::vector<double> CountBelow(const IndexMap& map, size_t children,
                                        uint64_t epoch, uint64_t begin,
                                        uint64_t end, LookUps* look_ups);

  const Flow flow_;

 private:
  const NodeFlow* above_ = nullptr;
  uint32_t place_ = 0;
};

// Makes the flow of a mixture or a Cut; null if the map is of another kind.
std::unique_ptr<NodeFlow> MakeDrawsFlow(std::shared_ptr<const IndexMap> map,
                                        size_t children, Flow flow,
                                        LookUps* look_ups);
// Makes the flow of a node with one child.
std::unique_ptr<NodeFlow> MakePassFlow(std::shared_ptr<const IndexMap> map,
                                       const LengthState& below, Flow flow);
// Makes the flow of a node with several children, which are read one after the
// other or all in one order.
std::unique_ptr<NodeFlow> MakeJoinFlow(std::shared_ptr<const IndexMap> map,
                                       const std::vector<NamedNode>& children,
                                       Flow flow, LookUps* look_ups);

// A number of positions, as whole epochs and the rest.
struct Epochs {
  double whole = 0;
  double rest = 0;
};
Epochs SplitEpochs(double at, std::optional<uint64_t> per_epoch);

}  // namespace poniente::internal

#endif  // PONIENTE_ANALYSIS_PLAN_PLAN_FLOW_H_
