// SPDX-License-Identifier: Apache-2.0
// Builds the nodes of a run's tree as datasets.

#ifndef PONIENTE_CONFIG_TREE_NODE_BUILDER_H_
#define PONIENTE_CONFIG_TREE_NODE_BUILDER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "config/run_nodes.h"
#include "config/tree/nested_changes.h"
#include "config/tree/packed_lengths.h"
#include "config/tree/selections.h"
#include "config/tree/source_windows.h"
#include "config/tree/sources.h"
#include "poniente/async_dataset.h"
#include "poniente/config.h"
#include "poniente/mixture_dataset.h"
#include "poniente/mixture_plan.h"
#include "poniente/schedule.h"
#include "poniente/token_window.h"

namespace poniente::internal {

// Builds any node of the tree, with all nodes below it. A node inherits from
// the nodes above it: how documents are packed, what is held out, and whether
// the budget has cut the data already.
//
// The builder reads the run, the sources and the schedule, which must outlive
// it. It owns the sequence lengths, and collects what it finds on the way:
// changes, thresholds, warnings, and the source of each leaf.
class NodeBuilder {
 public:
  NodeBuilder(const Run& run, const ConfigSources& sources)
      : run_(run),
        sources_(sources),
        windows_(run, sources),
        selections_(run.folder) {}

  // Sets the sequence lengths of the run's samples. REQUIRES: they are not
  // empty, and the first starts at 0.
  void SetLengths(std::vector<LengthFrom> lengths);
  // Sets the schedule. Call SetLengths() with its lengths before the next node
  // is built.
  void SetSchedule(const Schedule* schedule) { schedule_ = schedule; }
  const std::vector<LengthFrom>& lengths() const { return lengths_; }

  // Builds the run's root. A root that is not a mixture has its packed windows
  // in `packed_tokens`, one of the lengths. Each line of an error begins with
  // its place in the configuration. Returns ToldElsewhere() if the only errors
  // are those of sources that are not open. REQUIRES: SetLengths() and
  // SetSchedule() were called.
  absl::StatusOr<DatasetPtr<TokenWindow>> BuildRoot(uint32_t packed_tokens);
  // Builds a component of the root's mixture before there is a schedule, to
  // count its items. It inherits packing and what is held out from the root.
  // Errors as BuildRoot(). REQUIRES: SetLengths() was called, and no stage at
  // or below `child` is placed by the run.
  absl::StatusOr<DatasetPtr<TokenWindow>> BuildComponentOfRoot(
      const Node& child);

  // Returns the source of a leaf that was built. The caller sets its path.
  ConfigSource SourceOf(const DatasetNode& leaf) const {
    return windows_.SourceOf(leaf);
  }
  // Return what was found in the nodes that were built: changes that the
  // schedule does not know of, thresholds that were computed from scores, and
  // warnings, each once and with its place.
  const std::vector<PlannedChange>& changes() const { return changes_; }
  const std::vector<ComputedThreshold>& thresholds() const {
    return selections_.computed();
  }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  // Builds a node with what it states about its own items. `before`: null where
  // no number of samples says how many items of the node have begun.
  absl::StatusOr<DatasetPtr<TokenWindow>> BuildNode(const Node& node,
                                                    NodePosition at,
                                                    const ItemsBefore& before);
  absl::StatusOr<DatasetPtr<TokenWindow>> BuildKind(const Node& node,
                                                    NodePosition at,
                                                    const ItemsBefore& before);
  // Builds a store, a dataset of the hub, or a number of tokens.
  absl::StatusOr<DatasetPtr<TokenWindow>> BuildSource(const Node& node);
  absl::StatusOr<DatasetPtr<TokenWindow>> BuildMixture(
      const Node& node, NodePosition at, const ItemsBefore& before);
  absl::StatusOr<DatasetPtr<TokenWindow>> BuildComponent(
      const Node& mixture, NodePosition at, const Node& child,
      const ItemsBefore& below);

  // Adds a warning once, though a node is built for each length of samples.
  void Warn(absl::string_view warning);
  // Returns whether the budget cuts here. It cuts a source after the outermost
  // node that changes its items.
  bool CutsHere(const Node& node) const;
  // Returns whether all sources at or below a child of the node that is built
  // are packed.
  bool IsPacked(const Node& child) const;
  bool IsPackedSource(const Node& child) const;

  // Returns the lengths of a mixture's samples, in its own samples.
  std::vector<LengthFrom> LengthsIn(NodePosition at,
                                    const ItemsBefore& before) const;
  const std::vector<RunStage>& StagesOf(const Node& node,
                                        NodePosition at) const;
  absl::StatusOr<MixtureOptions> OptionsOf(const Node& node, NodePosition at,
                                           const ItemsBefore& before);
  // Returns a stage of a nested mixture, in its own samples.
  absl::StatusOr<MixtureStage> StageOf(const RunStage& stated,
                                       const ItemsBefore& before);
  // Returns the plan for mixtures below whose stages, or lengths, go by the
  // run.
  absl::StatusOr<std::optional<MixturePlan>> PlanOf(
      const Node& node, NodePosition at, const ItemsBefore& before,
      const MixtureOptions& options) const;
  ViewChanges ViewsOf(const Node& node, NodePosition at, const Node& child,
                      const MixtureOptions& options,
                      const std::vector<LengthFrom>& lengths) const;
  // Adds the component under other thresholds, and in windows of other lengths.
  absl::Status AddViews(const Node& node, NodePosition at, const Node& child,
                        const MixtureOptions& options,
                        const std::vector<LengthFrom>& lengths,
                        std::vector<ComponentView<TokenWindow>>* views);
  absl::Status CheckNotEmpty(const Node& mixture, NodePosition at,
                             const Node& child,
                             const AsyncDataset<TokenWindow>& made);

  const Run& run_;
  const ConfigSources& sources_;
  SourceWindows windows_;
  SelectionReader selections_;
  std::vector<LengthFrom> lengths_;
  const Schedule* schedule_ = nullptr;  // null until it is known
  // Names from the root to the mixture that is built, and changes found so far.
  std::string path_;
  std::vector<PlannedChange> changes_;
  // What the node that is built, or the next above it that says it, states of
  // packing; null if none does.
  const NodePacking* packing_ = nullptr;
  // Likewise what is held out.
  const NodeHoldOut* hold_out_ = nullptr;
  // Tokens of the packed windows that are built.
  uint32_t packed_tokens_ = 0;
  // Whether a node above cuts what is built to the budget.
  bool is_cut_ = false;
  // Whether the error of the last node that was built has its place in front.
  bool located_ = false;
  std::vector<std::string> warnings_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_TREE_NODE_BUILDER_H_
