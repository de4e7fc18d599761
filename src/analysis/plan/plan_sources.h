// SPDX-License-Identifier: Apache-2.0
// The rows of a plan: what a run reads of each node of its tree.

#ifndef PONIENTE_ANALYSIS_PLAN_PLAN_SOURCES_H_
#define PONIENTE_ANALYSIS_PLAN_PLAN_SOURCES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "analysis/plan/plan_flow.h"
#include "analysis/plan/plan_repeats.h"
#include "analysis/plan/plan_steps.h"
#include "poniente/config.h"
#include "poniente/dataset_tree.h"
#include "poniente/plan.h"

namespace poniente::internal {

// Returns whether a node with these children only passes on (some of) the items
// of an unnamed child. Such a node has no row of its own.
bool IsPassedThrough(const std::vector<NamedNode>& children);

// Returns the flow of the root, with marks at the samples of these steps.
Flow RootFlow(const DatasetNode& root, const RunSteps& run,
              const std::vector<uint64_t>& steps);

class PlanSources {
 public:
  // Borrows its arguments. `sources` as in MakePlan().
  PlanSources(const DatasetNode& root, const RunSteps& run,
              const std::vector<ConfigSource>& sources);

  absl::Status Fill(PlannedRun* plan);

 private:
  // What a source needs while its parts are summed up.
  struct Row {
    PlannedRunSource source;
    std::vector<std::unique_ptr<Row>> children;  // in their order
    Row* parent = nullptr;
    std::vector<LikeLeaf> leaves;
    std::vector<double> samples;  // by interval
    // The node whose passes count as the row's: its own or, if that is a
    // Repeat, the node that it repeats.
    const DatasetNode* counted = nullptr;
    double per_epoch = 0;        // of that node
    std::vector<double> passes;  // by interval
    // Views that are in `passes`. Their epochs may differ in length, and the
    // rest of an epoch from which items are dropped counts as a whole one.
    uint32_t views_counted = 0;
    uint32_t item_tokens = 0;   // of the first of these views
    bool is_weightless = true;  // each view is
    bool has_items = false;
    // No sample before this one reads a second epoch of any leaf.
    std::optional<double> second_pass;
    std::optional<Repeat> first_repeat;
  };
  // A leaf of the tree. A row may have several.
  struct Leaf {
    Row* row = nullptr;
    uint64_t fingerprint = 0;
    uint32_t like = 0;  // the row's first leaf with the same items
  };

  // Where in the tree a row begins.
  struct TreePosition {
    const NodeFlow* above = nullptr;
    uint32_t child = 0;
  };

  absl::Status AddNode(const DatasetNode& node, const Flow& flow,
                       const TreePosition& place, Row* row);
  void AddLeaf(const DatasetNode& node, Row* row);
  // Adds windows of the node that changes of length skip.
  void AddSkipped(const DatasetNode& node, double windows,
                  PlannedRunSource* source) const;
  void AddSamples(const Flow& flow, Row* row);
  void AddPasses(const DatasetNode& node, const Flow& flow,
                 const TreePosition& place, Row* row);
  Row* RowOf(Row* parent, const NamedNode& child);
  // Replaces the counts computed from flows by counts of the run's samples.
  absl::Status LookUpSamples();
  // Gives each row the leaves of the rows below it, and their bounds.
  void Gather(Row* row);
  // Finds the first repeat of a row, then those of the rows below it.
  absl::Status FindRepeats(const DatasetTree& tree, LookUps* look_ups,
                           size_t* rows_left, Row* row);
  void Finish(Row* row, double passes_above, PlannedRun* plan);

  const DatasetNode& root_;
  const RunSteps& run_;
  const std::vector<ConfigSource>& sources_;
  uint32_t max_seq_len_ = 0;
  LookUps look_ups_;
  // How many views that share the sources of another lie above the node.
  int sharing_depth_ = 0;
  size_t num_rows_ = 0;
  Row rows_;  // stands for the root
  // The numbers of the leaves as they are met, and how many have been met.
  const std::vector<uint32_t> numbers_;
  size_t num_leaves_ = 0;
  std::vector<Leaf> leaves_;  // by number
};

}  // namespace poniente::internal

#endif  // PONIENTE_ANALYSIS_PLAN_PLAN_SOURCES_H_
