// SPDX-License-Identifier: Apache-2.0
#include "config/tree/node_builder.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "config/tree/child_errors.h"
#include "config/tree/empty_nodes.h"
#include "config/tree/modifiers.h"
#include "config/tree/nested_places.h"
#include "config/tree/schedule_builder.h"
#include "config/tree/source_checks.h"
#include "dataset/joined_path.h"
#include "index/mixture/stage_ramps.h"
#include "index/schedule/stage_marks.h"
#include "poniente/flat_mixture.h"
#include "poniente/transforms.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

using Tokens = DatasetPtr<TokenWindow>;

}  // namespace

void NodeBuilder::SetLengths(std::vector<LengthFrom> lengths) {
  lengths_ = std::move(lengths);
  packed_tokens_ = lengths_[0].tokens;
  std::vector<uint64_t> each;
  for (const LengthFrom& length : lengths_) each.push_back(length.tokens);
  std::sort(each.begin(), each.end());
  each.erase(std::unique(each.begin(), each.end()), each.end());
  windows_.SetPackedLengths(std::move(each));
}

absl::StatusOr<Tokens> NodeBuilder::BuildRoot(uint32_t packed_tokens) {
  packed_tokens_ = packed_tokens;
  return BuildNode(run_.data, NodePosition::kRoot, nullptr);
}

absl::StatusOr<Tokens> NodeBuilder::BuildComponentOfRoot(const Node& child) {
  for (const Node* above = &run_.data;; above = &above->children[0]) {
    if (above->pack_documents) packing_ = &*above->pack_documents;
    if (above->hold_out) hold_out_ = &*above->hold_out;
    if (above->kind != NodeKind::kUse) break;
  }
  absl::StatusOr<Tokens> made =
      BuildNode(child, NodePosition::kComponent, nullptr);
  packing_ = nullptr;
  hold_out_ = nullptr;
  return made;
}

absl::StatusOr<Tokens> NodeBuilder::BuildNode(const Node& node, NodePosition at,
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
  if (made.ok() && at == NodePosition::kRoot && !(*made)->has_order()) {
    const absl::Status is_last = CheckShuffledLast(run_, node);
    located_ |= !is_last.ok();
    if (!is_last.ok()) made = is_last;
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

void NodeBuilder::Warn(absl::string_view warning) {
  if (!warning.empty() && std::find(warnings_.begin(), warnings_.end(),
                                    warning) == warnings_.end()) {
    warnings_.emplace_back(warning);
  }
}

bool NodeBuilder::CutsHere(const Node& node) const {
  return run_.budget && !is_cut_ && IsOneSource(node) &&
         (ChangesItems(node) || node.kind != NodeKind::kUse);
}

absl::StatusOr<Tokens> NodeBuilder::BuildKind(const Node& node, NodePosition at,
                                              const ItemsBefore& before) {
  switch (node.kind) {
    case NodeKind::kStore:
    case NodeKind::kHub:
    case NodeKind::kDeclared:
      return BuildSource(node);
    case NodeKind::kDataset:
      PONIENTE_RETURN_IF_ERROR(CheckOwnWindows(run_, *node.dataset));
      if (hold_out_ != nullptr) {
        return absl::InvalidArgumentError(
            "is a dataset of the program's own, of which nothing is held "
            "out: state hold_out for the sources beside it");
      }
      return node.dataset;
    case NodeKind::kUse:
      return BuildNode(node.children[0], PositionOfUsed(node, at), before);
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

absl::StatusOr<Tokens> NodeBuilder::BuildSource(const Node& node) {
  if (!sources_.IsOpen(node)) return ToldElsewhere();
  const bool is_packed = packing_ != nullptr && packing_->is_packed;
  absl::StatusOr<Tokens> made =
      windows_.Windows(node, is_packed ? &packing_->options : nullptr,
                       packed_tokens_, hold_out_, &selections_);
  located_ |=
      !made.ok() && (node.documents.has_value() ||
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

absl::StatusOr<Tokens> NodeBuilder::BuildMixture(const Node& node,
                                                 NodePosition at,
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

absl::StatusOr<Tokens> NodeBuilder::BuildComponent(const Node& mixture,
                                                   NodePosition at,
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

bool NodeBuilder::IsPacked(const Node& child) const {
  return PacksOf(child, packing_ != nullptr && packing_->is_packed) ==
         Packs::kAll;
}

bool NodeBuilder::IsPackedSource(const Node& child) const {
  return Used(child).children.empty() && IsPacked(child);
}

std::vector<LengthFrom> NodeBuilder::LengthsIn(
    NodePosition at, const ItemsBefore& before) const {
  if (at == NodePosition::kRoot && schedule_ != nullptr) return lengths_;
  if (before == nullptr) return {lengths_[0]};
  return LengthsBelow(lengths_, before);
}

const std::vector<RunStage>& NodeBuilder::StagesOf(const Node& node,
                                                   NodePosition at) const {
  return at == NodePosition::kRoot ? run_.stages : node.stages;
}

absl::StatusOr<MixtureOptions> NodeBuilder::OptionsOf(
    const Node& node, NodePosition at, const ItemsBefore& before) {
  if (at == NodePosition::kRoot) {
    return schedule_->MixtureOptionsFrom(MixtureOptionsOf(node.mixture));
  }
  MixtureOptions options = MixtureOptionsOf(node.mixture);
  options.seed = node.seed;
  for (const RunStage& spec : node.stages) {
    PONIENTE_ASSIGN_OR_RETURN(MixtureStage stage, StageOf(spec, before));
    stage.label =
        absl::StrCat(StageLabel(options.stages.size(), spec.name), stage.label);
    options.stages.push_back(std::move(stage));
  }
  return options;
}

absl::StatusOr<MixtureStage> NodeBuilder::StageOf(const RunStage& stated,
                                                  const ItemsBefore& before) {
  absl::StatusOr<MixtureStage> made =
      NestedMixtureStage(run_, schedule_, before, stated);
  if (made.ok()) return made;
  located_ = true;
  return Prepend(made.status(), ToString(stated.location));
}

absl::StatusOr<std::optional<MixturePlan>> NodeBuilder::PlanOf(
    const Node& node, NodePosition at, const ItemsBefore& before,
    const MixtureOptions& options) const {
  const bool has_lengths_below =
      lengths_.size() > 1 &&
      std::any_of(node.children.begin(), node.children.end(),
                  [this](const Node& child) {
                    return IsPacked(child) && !IsPackedSource(child);
                  });
  if (!has_lengths_below || schedule_ == nullptr) {
    return PlanOfNested(node, options, before, schedule_,
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

ViewChanges NodeBuilder::ViewsOf(const Node& node, NodePosition at,
                                 const Node& child,
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

absl::Status NodeBuilder::AddViews(
    const Node& node, NodePosition at, const Node& child,
    const MixtureOptions& options, const std::vector<LengthFrom>& lengths,
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

absl::Status NodeBuilder::CheckNotEmpty(const Node& mixture, NodePosition at,
                                        const Node& child,
                                        const AsyncDataset<TokenWindow>& made) {
  if (!IsDrawn(mixture, child, StagesOf(mixture, at)) ||
      made.length_now() != LengthState::Final(0)) {
    return absl::OkStatus();
  }
  located_ = true;
  return NothingToDraw(run_, sources_, child, packing_, "a weight but ");
}

}  // namespace poniente::internal
