// SPDX-License-Identifier: Apache-2.0
#include "config/added_sources.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/checked_run.h"
#include "config/evals.h"
#include "config/parse/run_parser.h"
#include "config/run_nodes.h"
#include "config/tree/hold_outs.h"
#include "config/tree/nested_changes.h"
#include "config/write/run_writer.h"
#include "config/write/toml_text.h"
#include "dataset/joined_path.h"
#include "loader/metrics/loader_reports.h"
#include "poniente/mixture_dataset.h"
#include "util/nearest_name.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

using Mixture = MixtureDataset<TokenWindow>;
using Names = std::span<const std::string>;

// Returns the mixture to which the names lead from a node of the description;
// null if there is none.
const Node* MixtureAt(const Node& node, Names names) {
  const Node& used = Used(node);
  if (used.kind != NodeKind::kMixture) return nullptr;
  if (names.empty()) return &used;
  for (const Node& child : used.children) {
    if (child.name == names.front()) return MixtureAt(child, names.subspan(1));
  }
  return nullptr;
}

// Returns the node with nothing below it but the component, below the mixture
// to which the names lead. Weights and stages decide nothing of a component.
Node Pruned(const Node& node, Names names, const Node& component) {
  Node made = node;
  made.children.clear();
  if (node.kind == NodeKind::kUse) {
    made.children.push_back(Pruned(node.children[0], names, component));
    return made;
  }
  made.stages.clear();
  made.mixture.weight_rule = WeightRule::kProportions;
  made.mixture.weights_sum.reset();
  made.mixture.temperature = 1;
  made.mixture.stop_rule = StopRule::kRestart;
  if (names.empty()) {
    made.children.push_back(component);
  } else {
    const auto child = std::find_if(
        node.children.begin(), node.children.end(),
        [&](const Node& one) { return one.name == names.front(); });
    made.children.push_back(Pruned(*child, names.subspan(1), component));
  }
  Node& below = made.children.back();
  below.weight = 1;
  below.max_epochs.reset();
  return made;
}

// Returns the run with this component alone.
Run RunOfComponent(const Run& run, Names names, const Node& component) {
  Run made = run;
  made.journal.clear();
  made.evals.clear();
  made.data = Pruned(run.data, names, component);
  for (RunStage& stage : made.stages) {
    const RunStage stated = std::exchange(stage, RunStage());
    stage.name = stated.name;
    stage.start = stated.start;
    stage.batch_size = stated.batch_size;
    stage.seq_len = stated.seq_len;
    stage.location = stated.location;
  }
  return made;
}

bool HasViews(const DatasetNode& node) {
  const std::vector<NamedNode> children = node.children();
  return std::any_of(children.begin(), children.end(),
                     [](const NamedNode& child) {
                       return child.view > 0 || HasViews(*child.node);
                     });
}

// Stages of mixtures below the component count samples that it has served; the
// run's own places would need to know how many those are.
absl::Status CheckBelow(const Node& component, const DatasetNode& dataset) {
  if (HasStagePlacedByRun(component)) {
    return absl::InvalidArgumentError(
        "has stages that start at a step or token of the run, which is not "
        "possible in what is added while it goes on: state start_sample");
  }
  if (HasViews(dataset)) {
    return absl::InvalidArgumentError(
        "is a mixture of packed documents, which cannot be added to a run "
        "whose lengths change; add its components");
  }
  return absl::OkStatus();
}

// Takes the component out of the tree of RunOfComponent().
OpenedComponent TakeOut(const BuiltRun& built, Names names,
                        const std::string& name) {
  OpenedComponent opened;
  DatasetPtr<TokenWindow> at = built.dataset;
  if (const InfilledDataset* const infilled = InfilledOf(*at)) {
    const auto sources = infilled->infillings().sources();
    opened.infilled.assign(sources.begin(), sources.end());
    at = infilled->child();
  }
  for (const std::string& next : names) {
    at = dynamic_cast<const Mixture&>(*at).component(next);
  }
  opened.part = dynamic_cast<const Mixture&>(*at).ComponentAndViews(name);
  return opened;
}

}  // namespace

AddedSources::AddedSources(Run run, std::vector<ConfigSource> sources,
                           bool reads)
    : run_(std::move(run)), described_(std::move(sources)), reads_(reads) {}

absl::StatusOr<OpenedComponent> AddedSources::Open(const std::string& path,
                                                   const ComponentText& text) {
  std::vector<std::string> names;
  if (!path.empty()) names = absl::StrSplit(path, '/');
  const Node* const mixture = MixtureAt(run_.data, names);
  if (mixture == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", path,
        "' is no mixture in the description of the run; a component can be "
        "added to the root mixture, or to one that lies below mixtures alone"));
  }
  PONIENTE_ASSIGN_OR_RETURN(
      const Node component,
      ParseComponentText(
          absl::StrCat(TomlKey(text.name), " = ", text.description),
          mixture->mixture.weight_rule, run_.shares_of));
  PONIENTE_ASSIGN_OR_RETURN(ParsedRun parsed,
                            CheckedRun(RunOfComponent(run_, names, component)));
  PONIENTE_ASSIGN_OR_RETURN(BuiltRun built, BuildRun(parsed.run));
  OpenedComponent opened = TakeOut(built, names, text.name);
  MixtureComponent<TokenWindow>& made = opened.part.component;
  const absl::Status below = CheckBelow(component, *made.dataset);
  if (!below.ok()) return Prepend(below, ToString(component.location));
  made.weight = WeightOf(component);
  made.max_epochs = component.max_epochs;
  opened.loss_weights = LoaderOptionsOf(parsed.run).loss_weights;
  PONIENTE_RETURN_IF_ERROR(Check(built));
  opened.when_made = [self = shared_from_this(),
                      made = std::make_shared<const BuiltRun>(
                          std::move(built))] { self->Keep(*made); };
  return opened;
}

absl::Status AddedSources::Check(const BuiltRun& built) const {
  std::vector<ConfigSource> all = described_;
  {
    MutexLock lock(&mu_);
    all.insert(all.end(), sources_.begin(), sources_.end());
  }
  for (const ConfigSource& source : built.sources) {
    if (reads_ && !source.is_readable) {
      return absl::FailedPreconditionError(
          absl::StrCat("'", source.path,
                       "' cannot be read: it has only a number of tokens, no "
                       "path"));
    }
    all.push_back(source);
  }
  return CheckHoldOuts(all);
}

void AddedSources::Keep(const BuiltRun& built) {
  {
    MutexLock lock(&mu_);
    sources_.insert(sources_.end(), built.sources.begin(), built.sources.end());
    thresholds_.insert(thresholds_.end(), built.thresholds.begin(),
                       built.thresholds.end());
    warnings_.insert(warnings_.end(), built.warnings.begin(),
                     built.warnings.end());
  }
  if (on_made_) on_made_(built);
}

absl::Status AddedSources::MoveTo(BuiltRun* run,
                                  std::vector<std::string>* warnings) {
  MutexLock lock(&mu_);
  std::move(sources_.begin(), sources_.end(), std::back_inserter(run->sources));
  std::move(thresholds_.begin(), thresholds_.end(),
            std::back_inserter(run->thresholds));
  std::move(warnings_.begin(), warnings_.end(), std::back_inserter(*warnings));
  return CheckHoldOuts(run->sources);
}

ComponentOpener OpenerFor(const Config& config, const LoaderOptions& options) {
  const auto added = std::make_shared<AddedSources>(
      config.run(), config.sources(), /*reads=*/true);
  added->OnMade([config, sink = options.warning_sink](const BuiltRun& made) {
    std::vector<std::string> warnings = made.warnings;
    const std::vector<std::string> undrawn =
        UndrawnPaths(config.run(), config.journal().entries());
    for (const RunEval& eval : config.run().evals) {
      const absl::StatusOr<Config> opened = config.Eval(eval.name);
      if (!opened.ok()) continue;
      WarnOfTrained(undrawn, made.sources, eval, opened->sources(), &warnings);
    }
    for (const std::string& warning : warnings) {
      EmitLine(sink, "warning: ", warning);
    }
  });
  return [added](const std::string& mixture, const ComponentText& text) {
    return added->Open(mixture, text);
  };
}

}  // namespace poniente::internal

namespace poniente {

namespace {

absl::StatusOr<ComponentText> TextOf(const NodeComponent& component) {
  // A mixture must draw from something, and this component may have weight 0,
  // or a wrong one, which the run says where the change is made.
  NodeComponent drawn = component;
  drawn.weight = 1;
  const Run run = {.batch_size = 1, .seq_len = 1, .data = Mixture({drawn})};
  PONIENTE_RETURN_IF_ERROR(
      internal::StatedText(
          run,
          "a journal cannot state; describe it in words of your own, "
          "RunChange::Add(), and set LoaderOptions::component_opener")
          .status());
  Node node = component.node;
  node.weight = component.weight;
  PONIENTE_ASSIGN_OR_RETURN(std::string text, internal::InlineText(node));
  return ComponentText{component.name, std::move(text)};
}

}  // namespace

absl::StatusOr<RunChange> AddComponent(const NodeComponent& component,
                                       std::string why) {
  PONIENTE_ASSIGN_OR_RETURN(ComponentText text, TextOf(component));
  RunChange change = RunChange::Add(
      std::move(text.name), std::move(text.description), std::move(why));
  PONIENTE_RETURN_IF_ERROR(ToText(change).status());
  return change;
}

absl::StatusOr<RunChange> SplitComponent(
    std::string component, const std::vector<NodeComponent>& parts,
    std::string why) {
  std::vector<ComponentText> texts;
  for (const NodeComponent& part : parts) {
    PONIENTE_ASSIGN_OR_RETURN(ComponentText text, TextOf(part));
    texts.push_back(std::move(text));
  }
  RunChange change =
      RunChange::Split(std::move(component), std::move(texts), std::move(why));
  PONIENTE_RETURN_IF_ERROR(ToText(change).status());
  return change;
}

}  // namespace poniente
