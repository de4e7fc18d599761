// SPDX-License-Identifier: Apache-2.0
#include "config/tree/graph_builder.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/run_nodes.h"
#include "config/tree/child_errors.h"
#include "config/tree/hold_outs.h"
#include "config/tree/infilled_sources.h"
#include "config/tree/modifiers.h"
#include "config/tree/nested_changes.h"
#include "config/tree/nested_places.h"
#include "config/tree/packed_lengths.h"
#include "config/tree/schedule_builder.h"
#include "config/tree/selections.h"
#include "config/tree/source_checks.h"
#include "config/tree/sources.h"
#include "dataset/joined_path.h"
#include "index/mixture/stage_ramps.h"
#include "index/schedule/stage_marks.h"
#include "poniente/dataset_tree.h"
#include "poniente/flat_mixture.h"
#include "poniente/mixture_dataset.h"
#include "poniente/transforms.h"
#include "util/alike_lines.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

using Tokens = DatasetPtr<TokenWindow>;

class GraphBuilder {
 public:
  explicit GraphBuilder(const Run& run)
      : run_(run), sources_(run), selections_(run.folder) {}

  absl::StatusOr<BuiltRun> Build() {
    PONIENTE_ASSIGN_OR_RETURN(Tokens dataset, OpenAndBuild());
    PONIENTE_ASSIGN_OR_RETURN(dataset, CutToLengths(std::move(dataset)));
    PONIENTE_ASSIGN_OR_RETURN(dataset, FitToRun(std::move(dataset)));
    BuiltRun built{std::move(dataset),
                   {},
                   schedule_->WithChanges(std::move(changes_)),
                   selections_.computed(),
                   sources_.warnings()};
    built.warnings.insert(built.warnings.end(), warnings_.begin(),
                          warnings_.end());
    const DatasetTree tree(*built.dataset);
    for (const TreeLeaf& leaf : tree.leaves()) {
      built.sources.push_back(sources_.SourceOf(*leaf.node));
      built.sources.back().path = leaf.path;
    }
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
      root = BuildNode(run_.data, NodePosition::kRoot, nullptr);
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
      const Node* above = &run_.data;
      for (;; above = &above->children[0]) {
        if (above->pack_documents) packing_ = &*above->pack_documents;
        if (above->kind != NodeKind::kUse) break;
      }
      for (const Node& child : root.children) {
        if (HasStagePlacedByRun(child)) {
          return absl::InvalidArgumentError(
              absl::StrCat(ToString(child.location),
                           " has stages that start at a step or token of the "
                           "run, which is not possible with weight_rule = "
                           "\"sizes\" at the root: state start_sample"));
        }
        PONIENTE_ASSIGN_OR_RETURN(
            const Tokens made,
            BuildNode(child, NodePosition::kComponent, nullptr));
        if (!made->length_now().is_final) {
          return absl::InvalidArgumentError(absl::StrCat(
              ToString(child.location),
              " is still being written, so weights cannot follow from sizes: "
              "state another weight_rule, or wait until it is complete"));
        }
        items.push_back(made->CurrentLength());
      }
      packing_ = nullptr;
    }
    PONIENTE_ASSIGN_OR_RETURN(schedule_, BuildSchedule(run_, items));
    return SetLengths(*schedule_);
  }

  absl::Status SetLengths(const Schedule& schedule) {
    lengths_ = LengthsOf(schedule);
    packed_tokens_ = lengths_[0].tokens;
    std::vector<uint64_t> each;
    for (const LengthFrom& length : lengths_) each.push_back(length.tokens);
    std::sort(each.begin(), each.end());
    each.erase(std::unique(each.begin(), each.end()), each.end());
    sources_.SetPackedLengths(std::move(each));
    return CheckPackedLengths(run_, lengths_, WindowTokens(run_));
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
    if (lengths_.size() == 1) return dataset;
    std::vector<Successor<TokenWindow>> successors;
    for (const LengthFrom& length : lengths_) {
      packed_tokens_ = length.tokens;
      PONIENTE_ASSIGN_OR_RETURN(
          Tokens made, BuildNode(run_.data, NodePosition::kRoot, nullptr));
      successors.push_back({length.start, std::move(made)});
    }
    return Succession(std::move(successors), options);
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
      return NothingToDraw(root, "");
    }
    if (!has_own_end && length.has_value() && schedule_->samples() > *length) {
      PONIENTE_ASSIGN_OR_RETURN(dataset, Repeat(std::move(dataset)));
    }
    PONIENTE_ASSIGN_OR_RETURN(
        dataset, FillInTheMiddle(run_, *schedule_, std::move(dataset)));
    return dataset->WithSeed(run_.seed);
  }

  // `before`: null where no number of samples says how many items of the node
  // have begun.
  absl::StatusOr<Tokens> BuildNode(const Node& node, NodePosition at,
                                   const ItemsBefore& before) {
    const NodePacking* const packing_above = packing_;
    if (node.pack_documents.has_value()) packing_ = &*node.pack_documents;
    const NodeHoldOut* const hold_out_above = hold_out_;
    if (node.hold_out.has_value()) hold_out_ = &*node.hold_out;
    const bool is_cut_above = is_cut_;
    const bool cuts = CutsHere(node);
    is_cut_ |= cuts;
    absl::StatusOr<Tokens> made = BuildKind(node, at, before);
    packing_ = packing_above;
    hold_out_ = hold_out_above;
    is_cut_ = is_cut_above;
    if (made.ok()) {
      Warn(WarningOfPackedChoice(node, **made));
      made = Modified(*std::move(made), node, cuts ? &*run_.budget : nullptr,
                      &selections_, &located_);
    }
    if (made.ok()) made = ShuffledIfAsked(*std::move(made), node, at);
    if (made.ok()) {
      const absl::Status grows = CheckGrowth(**made);
      if (!grows.ok()) made = grows;
    }
    if (IsToldElsewhere(made.status())) return made;
    if (!made.ok() && !located_) {
      located_ = true;  // nodes above stand elsewhere: keep the innermost place
      return AtStages(made.status(), StagesOf(node, at), node.location);
    }
    return made;
  }

  // Once, though a node is built for each length of samples.
  void Warn(absl::string_view warning) {
    if (!warning.empty() && std::find(warnings_.begin(), warnings_.end(),
                                      warning) == warnings_.end()) {
      warnings_.emplace_back(warning);
    }
  }

  // A budget cuts a source after the outermost node that changes its items.
  bool CutsHere(const Node& node) const {
    return run_.budget && !is_cut_ && IsOneSource(node) &&
           (ChangesItems(node) || node.kind != NodeKind::kUse);
  }

  absl::StatusOr<Tokens> BuildKind(const Node& node, NodePosition at,
                                   const ItemsBefore& before) {
    switch (node.kind) {
      case NodeKind::kStore:
      case NodeKind::kHub:
      case NodeKind::kDeclared: {
        if (!sources_.IsOpen(node)) return ToldElsewhere();
        const bool is_packed = packing_ != nullptr && packing_->is_packed;
        absl::StatusOr<Tokens> made =
            sources_.Windows(node, is_packed ? &packing_->options : nullptr,
                             packed_tokens_, hold_out_, &selections_);
        located_ |= !made.ok() &&
                    (node.documents.has_value() ||
                     node.order_documents.has_value() || hold_out_ != nullptr);
        if (is_packed && !located_ && absl::IsInvalidArgument(made.status())) {
          located_ = true;
          return AtStages(made.status(), {}, packing_->location);
        }
        if (is_packed && made.ok()) {
          Warn(WarningOfPadding(node, packing_->options, **made));
        }
        return made;
      }
      case NodeKind::kDataset:
        PONIENTE_RETURN_IF_ERROR(CheckOwnWindows(run_, *node.dataset));
        if (hold_out_ != nullptr) {
          return absl::InvalidArgumentError(
              "is a dataset of the program's own, of which nothing is held "
              "out: state hold_out for the sources beside it");
        }
        return node.dataset;
      case NodeKind::kUse:
        return BuildNode(node.children[0],
                         at == NodePosition::kRoot ? at : NodePosition::kOther,
                         before);
      case NodeKind::kMixture:
        return BuildMixture(node, at, before);
      case NodeKind::kFlat:
      case NodeKind::kConcat:
        break;
    }
    std::vector<NamedDataset<TokenWindow>> children;
    ChildErrors errors(&located_);
    for (const Node& child : node.children) {
      absl::StatusOr<Tokens> made =
          BuildNode(child, NodePosition::kOther, nullptr);
      errors.Add(made.status(), child.location);
      if (made.ok()) children.push_back({child.name, *std::move(made)});
    }
    PONIENTE_RETURN_IF_ERROR(errors.Joined());
    if (node.kind == NodeKind::kConcat) return Concat(std::move(children));
    FlatMixtureOptions options;
    options.seed = node.seed;
    if (IsShuffled(node.shuffle)) options.shuffle = *node.shuffle;
    return FlatMixture<TokenWindow>::Create(std::move(children), options);
  }

  absl::StatusOr<Tokens> BuildMixture(const Node& node, NodePosition at,
                                      const ItemsBefore& before) {
    PONIENTE_ASSIGN_OR_RETURN(MixtureOptions options,
                              OptionsOf(node, at, before));
    for (const std::string& coarse : CoarseRamps(options)) {
      Warn(AtStages(absl::InvalidArgumentError(coarse), StagesOf(node, at),
                    node.location)
               .message());
    }
    PONIENTE_ASSIGN_OR_RETURN(const std::optional<MixturePlan> plan,
                              PlanOf(node, at, before, options));
    const std::vector<LengthFrom> lengths = LengthsIn(at, before);
    if (at == NodePosition::kRoot) {
      AppendThresholdChanges(*schedule_, run_, &changes_);
    } else if (before != nullptr) {
      AppendNestedChanges(*schedule_, before, path_, node, options, &changes_);
    }
    std::vector<MixtureComponent<TokenWindow>> components;
    std::vector<ComponentView<TokenWindow>> views;
    ChildErrors errors(&located_);
    for (const Node& child : node.children) {
      ItemsBefore below;
      const bool has_lengths = lengths_.size() > 1 && IsPacked(child);
      if (plan.has_value() &&
          (has_lengths || IsOpenMixture(child) || HasStagePlacedByRun(child))) {
        below = [plan, before, number = plan->Find(child.name).value(), at,
                 is_packed = IsPacked(child)](uint64_t sample) {
          if (at != NodePosition::kRoot) sample = before(sample);
          // Packed windows are not cut: each sample is one of them.
          return is_packed ? plan->Count(number, sample)
                           : plan->ItemsBefore(number, sample);
        };
      }
      packed_tokens_ = lengths[0].tokens;
      absl::StatusOr<Tokens> made = BuildComponent(node, at, child, below);
      absl::Status status = made.status();
      if (made.ok()) {
        components.push_back(ComponentOf(child, *std::move(made)));
        status = AddViews(node, at, child, options, lengths, &views);
      }
      errors.Add(status, child.location);
    }
    const absl::Status ramps = CheckRampsAreSmooth(options);
    if (!ramps.ok()) {
      located_ = true;
      errors.Add(AtStages(ramps, StagesOf(node, at), node.location),
                 node.location);
    }
    PONIENTE_RETURN_IF_ERROR(errors.Joined());
    return MixtureDataset<TokenWindow>::Create(std::move(components), options,
                                               std::move(views));
  }

  absl::StatusOr<Tokens> BuildComponent(const Node& mixture, NodePosition at,
                                        const Node& child,
                                        const ItemsBefore& below) {
    const std::string path = path_;
    path_ = JoinedPath(path, child.name);
    absl::StatusOr<Tokens> made =
        BuildNode(child, NodePosition::kComponent, below);
    path_ = path;
    if (!made.ok()) return made;
    PONIENTE_RETURN_IF_ERROR(CheckNotEmpty(mixture, at, child, **made));
    PONIENTE_RETURN_IF_ERROR(CheckGrowingComponent(child, **made));
    return made;
  }

  // Whether all sources at or below a child of the node that is built are
  // packed.
  bool IsPacked(const Node& child) const {
    return PacksOf(child, packing_ != nullptr && packing_->is_packed) ==
           Packs::kAll;
  }
  bool IsPackedSource(const Node& child) const {
    return Used(child).children.empty() && IsPacked(child);
  }

  // The lengths of a mixture's samples, in its own samples.
  std::vector<LengthFrom> LengthsIn(NodePosition at,
                                    const ItemsBefore& before) const {
    if (at == NodePosition::kRoot && schedule_.has_value()) return lengths_;
    if (before == nullptr) return {lengths_[0]};
    return LengthsBelow(lengths_, before);
  }

  const std::vector<RunStage>& StagesOf(const Node& node,
                                        NodePosition at) const {
    return at == NodePosition::kRoot ? run_.stages : node.stages;
  }

  absl::StatusOr<MixtureOptions> OptionsOf(const Node& node, NodePosition at,
                                           const ItemsBefore& before) {
    if (at == NodePosition::kRoot) {
      return schedule_->MixtureOptionsFrom(MixtureOptionsOf(node.mixture));
    }
    MixtureOptions options = MixtureOptionsOf(node.mixture);
    options.seed = node.seed;
    for (const RunStage& spec : node.stages) {
      PONIENTE_ASSIGN_OR_RETURN(MixtureStage stage, StageOf(spec, before));
      stage.label = absl::StrCat(StageLabel(options.stages.size(), spec.name),
                                 stage.label);
      options.stages.push_back(std::move(stage));
    }
    return options;
  }

  // A stage of a nested mixture, in its own samples.
  absl::StatusOr<MixtureStage> StageOf(const RunStage& stated,
                                       const ItemsBefore& before) {
    absl::StatusOr<MixtureStage> made = NestedMixtureStage(
        run_, schedule_ ? &*schedule_ : nullptr, before, stated);
    if (made.ok()) return made;
    located_ = true;
    return Prepend(made.status(), ToString(stated.location));
  }

  // For mixtures below whose stages, or lengths, go by the run.
  absl::StatusOr<std::optional<MixturePlan>> PlanOf(
      const Node& node, NodePosition at, const ItemsBefore& before,
      const MixtureOptions& options) const {
    const bool has_lengths_below =
        lengths_.size() > 1 &&
        std::any_of(node.children.begin(), node.children.end(),
                    [this](const Node& child) {
                      return IsPacked(child) && !IsPackedSource(child);
                    });
    if (!has_lengths_below || schedule_ == std::nullopt) {
      return PlanOfNested(node, options, before,
                          schedule_ ? &*schedule_ : nullptr,
                          at == NodePosition::kRoot);
    }
    if (at != NodePosition::kRoot && before == nullptr) {
      return std::optional<MixturePlan>();
    }
    // Views begin stages, as in the mixture itself.
    std::vector<uint64_t> starts;
    for (const Node& child : node.children) {
      for (const auto& [start, change] :
           ViewsOf(node, at, child, options, LengthsIn(at, before))) {
        starts.push_back(start);
      }
    }
    PONIENTE_ASSIGN_OR_RETURN(
        MixturePlan plan,
        MixturePlan::Create(options, WeightedChildren(node), starts));
    return std::optional<MixturePlan>(std::move(plan));
  }

  ViewChanges ViewsOf(const Node& node, NodePosition at, const Node& child,
                      const MixtureOptions& options,
                      const std::vector<LengthFrom>& lengths) const {
    std::vector<uint64_t> starts;  // of the stages
    for (size_t i = 0; i < StagesOf(node, at).size(); ++i) {
      starts.push_back(at == NodePosition::kRoot
                           ? PlannedStageOf(*schedule_, run_, i).start_sample
                           : options.stages[i].start);
    }
    ViewChanges changes = ThresholdsOf(child, StagesOf(node, at), starts);
    if (lengths.size() > 1 && IsPackedSource(child)) {
      AddLengths(lengths, &changes);
    }
    return changes;
  }

  // The component under other thresholds, and in windows of other lengths.
  absl::Status AddViews(const Node& node, NodePosition at, const Node& child,
                        const MixtureOptions& options,
                        const std::vector<LengthFrom>& lengths,
                        std::vector<ComponentView<TokenWindow>>* views) {
    const ViewChanges changes = ViewsOf(node, at, child, options, lengths);
    if (changes.empty()) return absl::OkStatus();
    Node changed = child;
    packed_tokens_ = lengths[0].tokens;
    for (const auto& [start, change] : changes) {
      if (change.threshold) SetThreshold(*change.threshold, &changed);
      if (change.threshold) selections_.SetThresholdKey(change.threshold_key);
      packed_tokens_ = change.tokens.value_or(packed_tokens_);
      absl::StatusOr<Tokens> made =
          BuildNode(changed, NodePosition::kComponent, nullptr);
      selections_.SetThresholdKey("");
      if (!made.ok()) return made.status();
      views->push_back({child.name, start, *std::move(made),
                        /*keeps_epoch=*/!change.threshold.has_value()});
    }
    return absl::OkStatus();
  }

  absl::Status CheckNotEmpty(const Node& mixture, NodePosition at,
                             const Node& child,
                             const AsyncDataset<TokenWindow>& made) {
    if (!IsDrawn(mixture, child, StagesOf(mixture, at)) ||
        made.length_now() != LengthState::Final(0)) {
      return absl::OkStatus();
    }
    located_ = true;
    return NothingToDraw(child, "a weight but ");
  }

  // `besides`: what else it has.
  absl::Status NothingToDraw(const Node& node, const char* besides) const {
    const bool is_leaf =
        node.kind == NodeKind::kStore || node.kind == NodeKind::kDeclared;
    std::string why = node.kind == NodeKind::kDataset ? "its dataset holds"
                                                      : "its stores hold";
    if (is_leaf) {
      why = absl::StrCat("its store of ", sources_.TokensOf(node),
                         " tokens holds");
    }
    const NodePacking* const packing =
        node.pack_documents.has_value() ? &*node.pack_documents : packing_;
    const bool packs = packing != nullptr && packing->is_packed;
    const bool drops =
        packs && packing->options.long_documents == LongDocuments::kDrop;
    const bool drops_ends =
        packs && packing->options.end_of_document == EndOfDocument::kDrop;
    return absl::InvalidArgumentError(absl::StrCat(
        ToString(node.location), " has ", besides, "nothing to draw: ", why,
        " no window of seq_len ", WindowTokens(run_), " tokens",
        drops ? " (long_documents = \"drop\" leaves out documents that are "
                "longer)"
              : "",
        drops_ends ? " (without the ends of documents, which end_of_document "
                     "= \"drop\" leaves out)"
                   : ""));
  }

  const Run& run_;
  ConfigSources sources_;
  SelectionReader selections_;
  std::optional<Schedule> schedule_;
  // Names from the root to the mixture that is built, and changes found so far.
  std::string path_;
  std::vector<PlannedChange> changes_;
  // What the node that is built, or the next above it that says it, states of
  // packing; null if none does.
  const NodePacking* packing_ = nullptr;
  // Likewise what is held out.
  const NodeHoldOut* hold_out_ = nullptr;
  std::vector<LengthFrom> lengths_;
  // Tokens of the packed windows that are built.
  uint32_t packed_tokens_ = 0;
  // Whether a node above cuts what is built to the budget.
  bool is_cut_ = false;
  bool located_ = false;
  std::vector<std::string> warnings_;
};

}  // namespace

absl::StatusOr<BuiltRun> BuildRun(const Run& run) {
  return GraphBuilder(run).Build();
}

}  // namespace poniente::internal
