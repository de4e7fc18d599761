// SPDX-License-Identifier: Apache-2.0
#include "config/tree/graph_builder.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "config/tree/child_errors.h"
#include "config/tree/empty_nodes.h"
#include "config/tree/hold_outs.h"
#include "config/tree/infilled_sources.h"
#include "config/tree/nested_changes.h"
#include "config/tree/node_builder.h"
#include "config/tree/packed_lengths.h"
#include "config/tree/schedule_builder.h"
#include "config/tree/sources.h"
#include "dataset/leaf_items.h"
#include "poniente/dataset_tree.h"
#include "poniente/transforms.h"
#include "util/alike_lines.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

using Tokens = DatasetPtr<TokenWindow>;

class GraphBuilder {
 public:
  explicit GraphBuilder(const Run& run)
      : run_(run), sources_(run), nodes_(run, sources_) {}

  absl::StatusOr<BuiltRun> Build() {
    PONIENTE_ASSIGN_OR_RETURN(Tokens dataset, OpenAndBuild());
    PONIENTE_ASSIGN_OR_RETURN(dataset, CutToLengths(std::move(dataset)));
    PONIENTE_ASSIGN_OR_RETURN(dataset, FitToRun(std::move(dataset)));
    BuiltRun built{std::move(dataset),
                   {},
                   schedule_->WithChanges(nodes_.changes()),
                   nodes_.thresholds(),
                   sources_.warnings()};
    built.warnings.insert(built.warnings.end(), nodes_.warnings().begin(),
                          nodes_.warnings().end());
    const DatasetTree tree(*built.dataset);
    for (const TreeLeaf& leaf : tree.leaves()) {
      built.sources.push_back(nodes_.SourceOf(*leaf.node));
      built.sources.back().path = leaf.path;
    }
    PONIENTE_RETURN_IF_ERROR(CheckWindowsAsBefore(tree, built.sources));
    PONIENTE_RETURN_IF_ERROR(CheckHoldOuts(built.sources));
    return built;
  }

 private:
  // Opens the sources, makes the schedule, and builds the root. Each goes on
  // where it can after an error of another, so that all are told at once.
  absl::StatusOr<Tokens> OpenAndBuild() {
    std::vector<absl::Status> errors = {sources_.Open(run_.data)};
    if (errors[0].ok()) errors.push_back(sources_.CheckSomeWindow());
    const bool may_fit = errors.back().ok() || errors.size() == 1;
    absl::StatusOr<Tokens> root = ToldElsewhere();
    errors.push_back(MakeSchedule());
    if (errors.back().ok() && may_fit) {
      root = nodes_.BuildRoot(nodes_.lengths()[0].tokens);
    }
    errors.push_back(root.status());
    std::erase_if(errors, IsToldElsewhere);
    PONIENTE_RETURN_IF_ERROR(JoinErrors(errors));
    return root;
  }

  absl::Status MakeSchedule() {
    const Node& root = Used(run_.data);
    std::vector<std::optional<uint64_t>> items;
    const bool needs_sizes =
        root.kind == NodeKind::kMixture &&
        root.mixture.weight_rule == WeightRule::kSizeProportional;
    if (needs_sizes) {
      PONIENTE_ASSIGN_OR_RETURN(const Schedule stretches, BuildStretches(run_));
      PONIENTE_RETURN_IF_ERROR(SetLengths(stretches));
      for (const Node& child : root.children) {
        if (HasStagePlacedByRun(child)) {
          return absl::InvalidArgumentError(
              absl::StrCat(ToString(child.location),
                           " has stages that start at a step or token of the "
                           "run, which is not possible with weight_rule = "
                           "\"sizes\" at the root: state start_sample"));
        }
        PONIENTE_ASSIGN_OR_RETURN(const Tokens made,
                                  nodes_.BuildComponentOfRoot(child));
        if (!made->length_now().is_final) {
          return absl::InvalidArgumentError(absl::StrCat(
              ToString(child.location),
              " is still being written, so weights cannot follow from sizes: "
              "state another weight_rule, or wait until it is complete"));
        }
        items.push_back(made->CurrentLength());
      }
    }
    PONIENTE_ASSIGN_OR_RETURN(schedule_, BuildSchedule(run_, items));
    nodes_.SetSchedule(&*schedule_);
    return SetLengths(*schedule_);
  }

  absl::Status SetLengths(const Schedule& schedule) {
    nodes_.SetLengths(LengthsOf(schedule));
    return CheckPackedLengths(run_, nodes_.lengths(), WindowTokens(run_));
  }

  // A root that is not a mixture is cut here, or followed by the windows of
  // other lengths.
  absl::StatusOr<Tokens> CutToLengths(Tokens dataset) {
    if (Used(run_.data).kind == NodeKind::kMixture || !schedule_->cuts_items())
      return dataset;
    const MixtureOptions options =
        schedule_->MixtureOptionsFrom(MixtureOptionsOf(run_.data.mixture));
    if (PacksOf(run_.data, false) != Packs::kAll) {
      return Cut(std::move(dataset), options);
    }
    if (nodes_.lengths().size() == 1) return dataset;
    std::vector<Successor<TokenWindow>> successors;
    for (const LengthFrom& length : nodes_.lengths()) {
      PONIENTE_ASSIGN_OR_RETURN(Tokens made, nodes_.BuildRoot(length.tokens));
      successors.push_back({length.start, std::move(made)});
    }
    return Succession(std::move(successors), options);
  }

  // Earlier versions cut windows of Run::seq_len, also where no sample has that
  // length. The loader refused them, except from some sources, of which it read
  // the beginnings of windows.
  absl::Status CheckWindowsAsBefore(
      const DatasetTree& tree, std::span<const ConfigSource> sources) const {
    const bool is_replaced = run_.seq_len > WindowTokens(run_);
    if (!is_replaced || run_.max_seq_len > 0) return absl::OkStatus();
    const bool is_infilled = HasInfilledSource(run_.data, false);
    for (size_t i = 0; i < sources.size(); ++i) {
      const TreeLeaf& leaf = tree.leaves()[i];
      const bool was_refused =
          leaf.is_plain && leaf.node->ranges() != nullptr && !is_infilled;
      if (sources[i].data == nullptr || was_refused ||
          PackedItemsOf(leaf) != nullptr) {
        continue;
      }
      return absl::InvalidArgumentError(absl::StrCat(
          ToString(run_.seq_len_location), " = ", run_.seq_len,
          " is replaced at the start of the run, and no sample is as long: '",
          leaf.path, "' would have windows of ", WindowTokens(run_),
          " tokens, not of ", run_.seq_len,
          " as in earlier versions, whose ends were not read; state seq_len = ",
          WindowTokens(run_)));
    }
    return absl::OkStatus();
  }

  // A root that ends too early begins again.
  absl::StatusOr<Tokens> FitToRun(Tokens dataset) const {
    const Node& root = Used(run_.data);
    const bool is_mixture = root.kind == NodeKind::kMixture;
    const bool has_own_end =
        is_mixture && (root.mixture.stop_rule != StopRule::kRestart ||
                       std::any_of(root.children.begin(), root.children.end(),
                                   [](const Node& child) {
                                     return child.max_epochs.has_value();
                                   }));
    // What grows may turn out too short.
    const std::optional<uint64_t> length = dataset->CurrentLength();
    if (!is_mixture && dataset->length_now() == LengthState::Final(0)) {
      return NothingToDraw(run_, sources_, root, /*packing=*/nullptr, "");
    }
    if (!has_own_end && length.has_value() && schedule_->samples() > *length) {
      PONIENTE_ASSIGN_OR_RETURN(dataset, Repeat(std::move(dataset)));
    }
    PONIENTE_ASSIGN_OR_RETURN(
        dataset, FillInTheMiddle(run_, *schedule_, std::move(dataset)));
    return dataset->WithSeed(run_.seed);
  }

  const Run& run_;
  ConfigSources sources_;
  std::optional<Schedule> schedule_;
  NodeBuilder nodes_;
};

}  // namespace

absl::StatusOr<BuiltRun> BuildRun(const Run& run) {
  return GraphBuilder(run).Build();
}

}  // namespace poniente::internal
