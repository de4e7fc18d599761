// SPDX-License-Identifier: Apache-2.0
#include "config/tree/graph_builder.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "config/run_nodes.h"
#include "config/tree/hold_outs.h"
#include "config/tree/schedule_builder.h"
#include "config/tree/selections.h"
#include "config/tree/sources.h"
#include "index/schedule/place_text.h"
#include "index/schedule/stage_marks.h"
#include "poniente/dataset_tree.h"
#include "poniente/flat_mixture.h"
#include "poniente/mixture_dataset.h"
#include "poniente/transforms.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

using Tokens = DatasetPtr<TokenWindow>;

// How many items of a node the first samples of the run begin; null where no
// number of samples says it.
using ItemsBefore = std::function<uint64_t(uint64_t)>;

// A stage below that starts at a step or token of the run.
bool HasStagePlacedByRun(const Node& node) {
  return std::any_of(node.stages.begin(), node.stages.end(),
                     [](const RunStage& stage) {
                       return stage.start.unit != RunPoint::Unit::kSamples;
                     }) ||
         std::any_of(node.children.begin(), node.children.end(),
                     HasStagePlacedByRun);
}

bool IsShuffled(const std::optional<ShuffleOptions>& shuffle) {
  return shuffle.has_value() && shuffle->kind != ShuffleKind::kNone;
}

class GraphBuilder {
 public:
  explicit GraphBuilder(const Run& run)
      : run_(run), sources_(run), selections_(run.folder) {}

  absl::StatusOr<BuiltRun> Build() {
    PONIENTE_RETURN_IF_ERROR(sources_.Open(run_.data));
    PONIENTE_RETURN_IF_ERROR(MakeSchedule());
    PONIENTE_ASSIGN_OR_RETURN(
        Tokens dataset, BuildNode(run_.data, NodePosition::kRoot, nullptr));
    PONIENTE_ASSIGN_OR_RETURN(dataset, FitToRun(std::move(dataset)));
    BuiltRun built{std::move(dataset), {}, *schedule_, sources_.warnings()};
    const DatasetTree tree(*built.dataset);
    for (const TreeLeaf& leaf : tree.leaves()) {
      built.sources.push_back(sources_.SourceOf(*leaf.node));
      built.sources.back().path = leaf.path;
    }
    PONIENTE_RETURN_IF_ERROR(CheckHoldOuts(built.sources));
    return built;
  }

 private:
  absl::Status MakeSchedule() {
    const Node& root = Used(run_.data);
    std::vector<std::optional<uint64_t>> items;
    const bool needs_sizes =
        root.kind == NodeKind::kMixture &&
        root.mixture.weight_rule == WeightRule::kSizeProportional;
    if (needs_sizes) {
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
        items.push_back(made->CurrentLength());
      }
    }
    PONIENTE_ASSIGN_OR_RETURN(schedule_, BuildSchedule(run_, items));
    return absl::OkStatus();
  }

  // A root that is not a mixture is cut here, and one that ends too early
  // begins again.
  absl::StatusOr<Tokens> FitToRun(Tokens dataset) const {
    const Node& root = Used(run_.data);
    const bool is_mixture = root.kind == NodeKind::kMixture;
    if (!is_mixture && schedule_->cuts_items()) {
      PONIENTE_ASSIGN_OR_RETURN(
          dataset,
          Cut(std::move(dataset), schedule_->MixtureOptionsFrom(
                                      MixtureOptionsOf(run_.data.mixture))));
    }
    const bool has_own_end =
        is_mixture && (root.mixture.stop_rule != StopRule::kRestart ||
                       std::any_of(root.children.begin(), root.children.end(),
                                   [](const Node& child) {
                                     return child.max_epochs.has_value();
                                   }));
    const std::optional<uint64_t> length = dataset->CurrentLength();
    if (!has_own_end && length.has_value() && schedule_->samples() > *length) {
      PONIENTE_ASSIGN_OR_RETURN(dataset, Repeat(std::move(dataset)));
    }
    return dataset->WithSeed(run_.seed);
  }

  absl::StatusOr<Tokens> BuildNode(const Node& node, NodePosition at,
                                   const ItemsBefore& before) {
    const NodePacking* const packing_above = packing_;
    if (node.pack_documents.has_value()) packing_ = &*node.pack_documents;
    const NodeHoldOut* const hold_out_above = hold_out_;
    if (node.hold_out.has_value()) hold_out_ = &*node.hold_out;
    absl::StatusOr<Tokens> made = BuildKind(node, at, before);
    packing_ = packing_above;
    hold_out_ = hold_out_above;
    if (made.ok()) made = Modify(*std::move(made), node);
    if (made.ok()) made = ShuffleIfAsked(*std::move(made), node, at);
    if (!made.ok() && !located_) {
      located_ = true;  // nodes above stand elsewhere: keep the innermost place
      return Prepend(made.status(),
                     ToString(LocationOfStage(made.status(), StagesOf(node, at),
                                              node.location)));
    }
    return made;
  }

  absl::StatusOr<Tokens> BuildKind(const Node& node, NodePosition at,
                                   const ItemsBefore& before) {
    switch (node.kind) {
      case NodeKind::kStore:
      case NodeKind::kHub:
      case NodeKind::kDeclared: {
        const bool is_packed = packing_ != nullptr && packing_->is_packed;
        absl::StatusOr<Tokens> made =
            sources_.Windows(node, is_packed ? &packing_->options : nullptr,
                             hold_out_, &selections_);
        located_ |=
            !made.ok() && (node.documents.has_value() || hold_out_ != nullptr);
        if (is_packed && !located_ && absl::IsInvalidArgument(made.status())) {
          located_ = true;
          return Prepend(made.status(), ToString(packing_->location));
        }
        return made;
      }
      case NodeKind::kDataset:
        PONIENTE_RETURN_IF_ERROR(CheckWindows(*node.dataset));
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
    for (const Node& child : node.children) {
      PONIENTE_ASSIGN_OR_RETURN(
          Tokens made, BuildNode(child, NodePosition::kOther, nullptr));
      children.push_back({child.name, std::move(made)});
    }
    if (node.kind == NodeKind::kConcat) return Concat(std::move(children));
    FlatMixtureOptions options;
    options.seed = node.seed;
    if (IsShuffled(node.shuffle)) options.shuffle = *node.shuffle;
    return FlatMixture<TokenWindow>::Create(std::move(children), options);
  }

  absl::Status CheckWindows(const DatasetNode& own) const {
    const uint32_t has = own.item_tokens();
    const uint32_t wants = WindowTokens(run_);
    if (has == 0 || has == wants) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("'", own.name(), "' gives windows of ", has,
                     " tokens, the schedule asks for ", wants,
                     ": Run::max_seq_len, or the longest seq_len"));
  }

  absl::StatusOr<Tokens> Modify(Tokens made, const Node& node) {
    if (node.filter.has_value()) {
      const std::optional<uint64_t> length = made->CurrentLength();
      if (!length.has_value()) {
        return absl::InvalidArgumentError("an endless node cannot be filtered");
      }
      absl::StatusOr<Selection> selected =
          selections_.Read(*node.filter, *length);
      located_ |= !selected.ok();
      if (!selected.ok()) return selected.status();
      PONIENTE_ASSIGN_OR_RETURN(made,
                                Filter(std::move(made), *std::move(selected)));
    }
    if (node.order.has_value()) {
      absl::StatusOr<ScoreOrder> order = selections_.Read(*node.order);
      located_ |= !order.ok();
      if (!order.ok()) return order.status();
      OrderOptions options;
      options.bucket_items = node.order->bucket_items;
      options.buckets = node.order->buckets;
      PONIENTE_ASSIGN_OR_RETURN(
          made, Order(std::move(made), *std::move(order), options));
    }
    if (node.slice.has_value()) {
      PONIENTE_ASSIGN_OR_RETURN(
          made, Slice(std::move(made), node.slice->begin, node.slice->end));
    }
    if (node.take.has_value()) {
      PONIENTE_ASSIGN_OR_RETURN(made, Take(std::move(made), *node.take));
    }
    if (node.repeat.has_value()) {
      PONIENTE_ASSIGN_OR_RETURN(made, Repeat(std::move(made), *node.repeat));
    }
    return made;
  }

  // A component is shuffled by its mixture, flat by itself.
  absl::StatusOr<Tokens> ShuffleIfAsked(Tokens made, const Node& node,
                                        NodePosition at) {
    const bool is_local =
        IsShuffled(node.shuffle) && node.shuffle->kind != ShuffleKind::kFull;
    if (made->has_order()) {
      if (!is_local || node.kind == NodeKind::kFlat) return made;
      return absl::InvalidArgumentError(
          "has an order of its own, which cannot be shuffled by eras or "
          "chunks: state the shuffle for the nodes below it");
    }
    if (at == NodePosition::kComponent) return made;
    if (node.shuffle.has_value() ? !IsShuffled(node.shuffle)
                                 : at != NodePosition::kRoot) {
      return made;
    }
    return Shuffled(node.shuffle.value_or(ShuffleOptions::Full()),
                    std::move(made), std::nullopt);
  }

  absl::StatusOr<Tokens> BuildMixture(const Node& node, NodePosition at,
                                      const ItemsBefore& before) {
    PONIENTE_ASSIGN_OR_RETURN(MixtureOptions options,
                              OptionsOf(node, at, before));
    PONIENTE_ASSIGN_OR_RETURN(const std::optional<MixturePlan> plan,
                              PlanOf(node, at, before, options));
    std::vector<MixtureComponent<TokenWindow>> components;
    std::vector<ComponentView<TokenWindow>> views;
    for (const Node& child : node.children) {
      ItemsBefore below;
      if (plan.has_value()) {
        below = [plan, before, number = plan->Find(child.name).value(),
                 at](uint64_t sample) {
          return plan->ItemsBefore(
              number, at == NodePosition::kRoot ? sample : before(sample));
        };
      }
      PONIENTE_ASSIGN_OR_RETURN(
          Tokens made, BuildNode(child, NodePosition::kComponent, below));
      PONIENTE_RETURN_IF_ERROR(CheckNotEmpty(node, at, child, *made));
      MixtureComponent<TokenWindow>& component = components.emplace_back();
      component.name = child.name;
      component.dataset = std::move(made);
      component.weight = WeightOf(child);
      component.max_epochs = child.max_epochs;
      component.shuffle = child.shuffle.value_or(ShuffleOptions::Full());
      PONIENTE_RETURN_IF_ERROR(AddViews(node, at, child, options, &views));
    }
    return MixtureDataset<TokenWindow>::Create(std::move(components), options,
                                               std::move(views));
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
      PONIENTE_ASSIGN_OR_RETURN(const uint64_t start, StartOf(spec, before));
      const size_t number = options.stages.size();
      MixtureStage& stage = options.stages.emplace_back();
      stage.start = start;
      stage.label = absl::StrCat(StageLabel(number, spec.name), " at ",
                                 PlaceText(spec.start));
      if (spec.start.unit != RunPoint::Unit::kSamples) {
        absl::StrAppend(&stage.label, " (sample ", start, " of this mixture)");
      }
      stage.weights = spec.weights;
      stage.temperature = spec.temperature;
      stage.name = spec.name;
      stage.ramp_blocks = spec.ramp_blocks;
      if (spec.ramp.has_value()) {
        stage.ramp_samples = static_cast<uint64_t>(spec.ramp->count);
      }
    }
    return options;
  }

  // In the mixture's own samples.
  absl::StatusOr<uint64_t> StartOf(const RunStage& stage,
                                   const ItemsBefore& before) {
    if (stage.start.unit == RunPoint::Unit::kSamples) {
      return static_cast<uint64_t>(stage.start.count);
    }
    absl::StatusOr<uint64_t> sample = SampleAt(*schedule_, stage.start);
    if (sample.ok()) sample = before(*sample);
    if (sample.ok() && *sample == 0) {
      sample = absl::InvalidArgumentError(
          absl::StrCat("starts at ", PlaceText(stage.start),
                       ", before anything is drawn from this mixture"));
    }
    if (sample.ok()) return sample;
    located_ = true;
    return Prepend(sample.status(), ToString(stage.location));
  }

  // For mixtures below whose stages go by the run.
  absl::StatusOr<std::optional<MixturePlan>> PlanOf(
      const Node& node, NodePosition at, const ItemsBefore& before,
      const MixtureOptions& options) const {
    const bool is_needed = std::any_of(
        node.children.begin(), node.children.end(), HasStagePlacedByRun);
    if (!is_needed || schedule_ == std::nullopt) {
      return std::optional<MixturePlan>();
    }
    if (at == NodePosition::kRoot) {
      return std::optional<MixturePlan>(*schedule_->mixture());
    }
    if (before == nullptr) return std::optional<MixturePlan>();
    std::vector<WeightedComponent> components;
    for (const Node& child : node.children) {
      components.push_back({child.name, WeightOf(child), std::nullopt});
    }
    PONIENTE_ASSIGN_OR_RETURN(
        MixturePlan plan, MixturePlan::Create(options, std::move(components)));
    return std::optional<MixturePlan>(std::move(plan));
  }

  // The component under other thresholds.
  absl::Status AddViews(const Node& node, NodePosition at, const Node& child,
                        const MixtureOptions& options,
                        std::vector<ComponentView<TokenWindow>>* views) {
    const std::vector<RunStage>& stages = StagesOf(node, at);
    for (size_t i = 0; i < stages.size(); ++i) {
      const auto threshold = stages[i].thresholds.find(child.name);
      if (threshold == stages[i].thresholds.end()) continue;
      Node changed = child;
      SetThreshold(threshold->second, &changed);
      const uint64_t start =
          at == NodePosition::kRoot
              ? PlannedStageOf(*schedule_, run_, i).start_sample
              : options.stages[i].start;
      PONIENTE_ASSIGN_OR_RETURN(
          Tokens made, BuildNode(changed, NodePosition::kComponent, nullptr));
      views->push_back({child.name, start, std::move(made)});
    }
    return absl::OkStatus();
  }

  absl::Status CheckNotEmpty(const Node& mixture, NodePosition at,
                             const Node& child,
                             const AsyncDataset<TokenWindow>& made) {
    const bool is_scores = mixture.mixture.weight_rule == WeightRule::kScores;
    const auto draws = [is_scores](double weight) {
      return is_scores ? weight > -INFINITY : weight > 0;
    };
    bool is_drawn = draws(WeightOf(child));
    for (const RunStage& stage : StagesOf(mixture, at)) {
      const auto weight = stage.weights.find(child.name);
      is_drawn |= weight != stage.weights.end() && draws(weight->second);
    }
    if (!is_drawn || made.CurrentLength() != uint64_t{0}) {
      return absl::OkStatus();
    }
    located_ = true;
    const bool is_leaf =
        child.kind == NodeKind::kStore || child.kind == NodeKind::kDeclared;
    std::string why = child.kind == NodeKind::kDataset ? "its dataset holds"
                                                       : "its stores hold";
    if (is_leaf) {
      why = absl::StrCat("its store of ", sources_.TokensOf(child),
                         " tokens holds");
    }
    return absl::InvalidArgumentError(absl::StrCat(
        ToString(child.location), " has a weight but nothing to draw: ", why,
        " no window of seq_len ", WindowTokens(run_), " tokens"));
  }

  const Run& run_;
  ConfigSources sources_;
  SelectionReader selections_;
  std::optional<Schedule> schedule_;
  // What the node that is built, or the next above it that says it, states of
  // packing; null if none does.
  const NodePacking* packing_ = nullptr;
  // Likewise what is held out.
  const NodeHoldOut* hold_out_ = nullptr;
  bool located_ = false;
};

}  // namespace

absl::StatusOr<BuiltRun> BuildRun(const Run& run) {
  return GraphBuilder(run).Build();
}

}  // namespace poniente::internal
