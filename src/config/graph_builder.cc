// SPDX-License-Identifier: Apache-2.0
#include "config/graph_builder.h"

#include <filesystem>
#include <map>
#include <memory>

#include "absl/strings/str_cat.h"
#include "poniente/flat_mixture.h"
#include "poniente/index_datasets.h"
#include "poniente/mixture_dataset.h"
#include "poniente/provenance.h"
#include "poniente/token_store.h"
#include "util/one_line.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

using Tokens = DatasetPtr<TokenWindow>;

class GraphBuilder {
 public:
  GraphBuilder(const RunSpec& run, const std::string& folder)
      : run_(run), folder_(folder) {}

  absl::StatusOr<BuiltTree> BuildTree() {
    BuiltTree tree;
    PONIENTE_ASSIGN_OR_RETURN(tree.dataset, BuildRoot());
    const DatasetTree nodes(*tree.dataset);
    for (const TreeLeaf& leaf : nodes.leaves()) {
      ConfigSource& source = tree.sources.emplace_back(leaves_.at(leaf.node));
      source.path = leaf.path;
    }
    return tree;
  }

 private:
  absl::StatusOr<Tokens> BuildRoot() {
    OpenStores(run_.root);
    if (!store_errors_.empty()) return absl::Status(code_, store_errors_);
    PONIENTE_RETURN_IF_ERROR(CheckSomeStoreHoldsAWindow());
    NodeSpec root = run_.root;
    for (const StageSpec& stage : run_.stages) {
      if (stage.weights.empty()) continue;  // the weights stay as they are
      root.stages.push_back(stage);
      root.stages.back().start *= run_.batch_size;
    }
    PONIENTE_ASSIGN_OR_RETURN(Tokens dataset, Build(root));
    if (root.shuffle && !dataset->has_order()) {
      PONIENTE_ASSIGN_OR_RETURN(dataset, Shuffle(std::move(dataset)));
    }
    const std::optional<uint64_t> length = dataset->CurrentLength();
    if (length.has_value() && run_.steps > *length / run_.batch_size) {
      PONIENTE_ASSIGN_OR_RETURN(dataset, Repeat(std::move(dataset)));
    }
    return dataset->WithSeed(run_.seed);
  }

  // One store per path, however often it is named.
  void OpenStores(const NodeSpec& node) {
    for (const NodeSpec& child : node.children) OpenStores(child);
    if (node.kind != NodeKind::kStore) return;
    const std::string path =
        (std::filesystem::path(folder_) / node.path).lexically_normal();
    const auto [entry, is_new] = stores_.try_emplace(node.path, nullptr);
    if (!is_new) return;
    TokenStoreOptions options;
    options.io = run_.io;
    auto store = TokenStore::Open(path, options);
    if (store.ok()) {
      entry->second = *std::move(store);
      return;
    }
    if (store_errors_.empty()) code_ = store.status().code();
    absl::StrAppend(&store_errors_, store_errors_.empty() ? "" : "\n",
                    ToString(node.place), ": ",
                    OneLine(std::string(store.status().message())));
  }

  absl::Status CheckSomeStoreHoldsAWindow() const {
    const TokenStore* longest = nullptr;
    for (const auto& [path, store] : stores_) {
      if (!longest || store->num_tokens() > longest->num_tokens()) {
        longest = store.get();
      }
    }
    if (longest->num_tokens() >= run_.seq_len) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        ToString(run_.seq_len_place), " = ", run_.seq_len,
        " is longer than every store: the longest, '", longest->path(),
        "', has ", longest->num_tokens(), " tokens"));
  }

  absl::StatusOr<Tokens> Build(const NodeSpec& node) {
    absl::StatusOr<Tokens> made = BuildKind(node);
    if (made.ok() && node.take.has_value()) {
      made = Take(*std::move(made), *node.take);
    }
    if (!made.ok() && !located_) {
      located_ = true;  // nodes above stand elsewhere: keep the innermost place
      return Prepend(made.status(), ToString(node.place));
    }
    return made;
  }

  absl::StatusOr<Tokens> BuildKind(const NodeSpec& node) {
    switch (node.kind) {
      case NodeKind::kStore:
        return BuildStore(*stores_.at(node.path));
      case NodeKind::kMixture:
        return BuildMixture(node);
      case NodeKind::kFlat:
      case NodeKind::kConcat:
        break;
    }
    std::vector<NamedDataset<TokenWindow>> children;
    for (const NodeSpec& child : node.children) {
      PONIENTE_ASSIGN_OR_RETURN(Tokens made, Build(child));
      children.push_back({child.name, std::move(made)});
    }
    if (node.kind == NodeKind::kConcat) return Concat(std::move(children));
    FlatMixtureOptions options;
    options.seed = node.seed;
    return FlatMixture<TokenWindow>::Create(std::move(children), options);
  }

  absl::StatusOr<Tokens> BuildStore(const TokenStore& store) {
    PONIENTE_ASSIGN_OR_RETURN(Tokens made, store.Windows(run_.seq_len));
    leaves_[made.get()] = {"", store.path(), store.num_tokens(),
                           store.shared_from_this()};
    return made;
  }

  absl::StatusOr<Tokens> BuildMixture(const NodeSpec& node) {
    std::vector<MixtureComponent<TokenWindow>> components;
    for (const NodeSpec& child : node.children) {
      PONIENTE_ASSIGN_OR_RETURN(Tokens made, Build(child));
      PONIENTE_RETURN_IF_ERROR(CheckNotEmpty(node, child, *made));
      MixtureComponent<TokenWindow>& component = components.emplace_back();
      component.name = child.name;
      component.dataset = std::move(made);
      component.weight = child.weight;
      if (!child.shuffle) component.shuffle = ShuffleOptions::None();
    }
    MixtureOptions options;
    options.block_size = node.block_size;
    options.seed = node.seed;
    for (const StageSpec& stage : node.stages) {
      options.stages.push_back({stage.start, stage.weights});
    }
    return MixtureDataset<TokenWindow>::Create(std::move(components), options);
  }

  absl::Status CheckNotEmpty(const NodeSpec& mixture, const NodeSpec& child,
                             const AsyncDataset<TokenWindow>& made) {
    bool is_drawn = child.weight > 0;
    for (const StageSpec& stage : mixture.stages) {
      const auto weight = stage.weights.find(child.name);
      is_drawn |= weight != stage.weights.end() && weight->second > 0;
    }
    if (!is_drawn || made.CurrentLength() != uint64_t{0}) {
      return absl::OkStatus();
    }
    located_ = true;
    std::string why = "its stores hold";
    if (child.kind == NodeKind::kStore) {
      why = absl::StrCat("its store of ", stores_.at(child.path)->num_tokens(),
                         " tokens holds");
    }
    return absl::InvalidArgumentError(absl::StrCat(
        ToString(child.place), " has a weight but nothing to draw: ", why,
        " no window of seq_len ", run_.seq_len, " tokens"));
  }

  const RunSpec& run_;
  const std::string folder_;
  std::map<std::string, std::shared_ptr<const TokenStore>> stores_;
  // What the leaves that were made are of.
  std::map<const DatasetNode*, ConfigSource> leaves_;
  std::string store_errors_;
  absl::StatusCode code_ = absl::StatusCode::kOk;
  bool located_ = false;
};

}  // namespace

absl::StatusOr<BuiltTree> BuildTree(const RunSpec& run,
                                    const std::string& folder) {
  return GraphBuilder(run, folder).BuildTree();
}

absl::StatusOr<Schedule> BuildSchedule(const RunSpec& run) {
  ScheduleOptions options;
  options.steps = run.steps;
  options.batch_size = run.batch_size;
  options.seq_len = run.seq_len;
  for (const StageSpec& stage : run.stages) {
    options.stages.push_back({RunPoint::Step(static_cast<int64_t>(stage.start)),
                              stage.name, stage.lr_scale});
  }
  return Schedule::Create(std::move(options));
}

}  // namespace poniente::internal
