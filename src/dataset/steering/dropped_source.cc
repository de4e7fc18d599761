// SPDX-License-Identifier: Apache-2.0
#include "dataset/steering/dropped_source.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "dataset/steering/omission_node.h"
#include "index/journal/compact_ranges.h"
#include "index/maps/order_map.h"
#include "index/mixture/dropped_items.h"
#include "poniente/dataset_tree.h"
#include "poniente/extend/index_map_dataset.h"
#include "poniente/extend/infilled_dataset.h"
#include "poniente/extend/piecewise_items.h"
#include "util/mutex.h"
#include "util/nearest_name.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

using Tokens = DatasetPtr<TokenWindow>;
using Names = std::span<const std::string>;

// Returns the number of the leaf to which `names` lead from a node.
absl::StatusOr<uint32_t> LeafAt(const DatasetNode& node, Names names) {
  const std::string path = absl::StrJoin(names, "/");
  const std::vector<std::string> paths = NamePaths(node);
  const auto found = std::find(paths.begin(), paths.end(), path);
  if (found == paths.end() && path.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "it has several sources, such as '", paths.front(), "'; name one"));
  }
  if (found == paths.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("it has no source '", path, "'", DidYouMean(path, paths)));
  }
  if (std::count(paths.begin(), paths.end(), path) > 1) {
    return absl::InvalidArgumentError(
        "several sources have this path; give them names that differ");
  }
  return static_cast<uint32_t>(found - paths.begin());
}

std::vector<uint64_t> NumbersOf(const std::vector<NumberRange>& ranges) {
  std::vector<uint64_t> numbers;
  for (const NumberRange& range : ranges) {
    const size_t first = numbers.size();
    numbers.resize(first + (range.end - range.begin));
    std::iota(numbers.begin() + static_cast<ptrdiff_t>(first), numbers.end(),
              range.begin);
  }
  return numbers;
}

// The items that a change drops, of each leaf: views of a component may cut
// different windows of one source. Keeps those of the leaves it was asked for.
class ItemsToDrop {
 public:
  explicit ItemsToDrop(RunChange change) : change_(std::move(change)) {}

  absl::StatusOr<std::shared_ptr<const std::vector<uint64_t>>> Of(
      const DatasetNode& leaf) {
    MutexLock lock(&mu_);
    const uint64_t fingerprint = leaf.fingerprint();
    for (const auto& [print, items] : known_) {
      if (print == fingerprint) return items;
    }
    if (change_.drops_items && !known_.empty()) {
      return absl::InvalidArgumentError(
          "its stages read windows that are cut differently, so that a number "
          "of an item means another one in each; drop documents instead");
    }
    PONIENTE_ASSIGN_OR_RETURN(std::vector<uint64_t> items,
                              DroppedItemsOf(leaf, change_));
    known_.emplace_back(
        fingerprint,
        std::make_shared<const std::vector<uint64_t>>(std::move(items)));
    return known_.back().second;
  }

 private:
  const RunChange change_;
  Mutex mu_;
  std::vector<std::pair<uint64_t, std::shared_ptr<const std::vector<uint64_t>>>>
      known_ ABSL_GUARDED_BY(mu_);
};

// Returns where `node` serves the items of one of its leaves in an epoch.
absl::StatusOr<std::vector<uint64_t>> IndicesOf(const DatasetNode& node,
                                                Names names, uint64_t epoch,
                                                ItemsToDrop* dropped) {
  const DatasetTree tree(node);
  LeafPosition at;
  PONIENTE_ASSIGN_OR_RETURN(at.leaf, LeafAt(node, names));
  at.position.epoch = epoch;
  PONIENTE_ASSIGN_OR_RETURN(const auto items,
                            dropped->Of(*tree.leaves()[at.leaf].node));
  if (node.children().empty()) {  // it is the leaf itself
    const uint64_t length = node.length_now().readable;
    return std::vector(items->begin(),
                       std::lower_bound(items->begin(), items->end(), length));
  }
  std::vector<uint64_t> indices;
  indices.reserve(items->size());
  for (const uint64_t item : *items) {
    at.position.index = item;
    PONIENTE_ASSIGN_OR_RETURN(const std::optional<Position> found,
                              tree.Find(at));
    // A filter, or an earlier change, has left it out before.
    if (found.has_value()) indices.push_back(found->index);
  }
  return indices;
}

// Makes a component's dataset anew, without the items.
class Thinning {
 public:
  explicit Thinning(ItemsToDrop* dropped) : dropped_(*dropped) {}

  // What lies below an order is taken out where it has none, so that the order
  // is made of what is left.
  absl::StatusOr<Tokens> Of(const Tokens& node, Names names) const {
    if (!node->has_order()) return Without(node, names);
    const auto* const order =
        dynamic_cast<const IndexMapDataset<TokenWindow>*>(node.get());
    if (order == nullptr || !TakesAnyLength(order->recipe().kind())) {
      if (IsSameInEachEpoch(*node)) return Without(node, names);
      return absl::InvalidArgumentError(absl::StrCat(
          "'", node->name(),
          "' lies above it, whose items are places of an order; "
          "only flat mixtures, concatenations, shuffles and orders by score "
          "without buckets may"));
    }
    std::vector<NamedDataset<TokenWindow>> children = order->named_children();
    for (NamedDataset<TokenWindow>& child : children) {
      const bool has_name = !child.name.empty();
      if (has_name && (names.empty() || child.name != names.front())) continue;
      PONIENTE_ASSIGN_OR_RETURN(
          child.dataset,
          Of(child.dataset, has_name ? names.subspan(1) : names));
      return order->WithChildren(std::move(children));
    }
    return LeafAt(*node, names).status();  // names the source that is missing
  }

 private:
  static absl::Status CheckServesEachOnce(const DatasetNode& node) {
    if (node.repeats_items()) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", node.name(),
                       "' lies above it, which serves an item several "
                       "times in an epoch"));
    }
    for (const NamedNode& child : node.children()) {
      PONIENTE_RETURN_IF_ERROR(CheckServesEachOnce(*child.node));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Tokens> Without(const Tokens& node, Names names) const {
    PONIENTE_RETURN_IF_ERROR(CheckServesEachOnce(*node));
    PONIENTE_ASSIGN_OR_RETURN(std::vector<uint64_t> indices,
                              IndicesOf(*node, names, 0, &dropped_));
    return WithoutItems(node, std::move(indices));
  }

  ItemsToDrop& dropped_;
};

// The items of one source, in the views of a component that were in force when
// they were dropped.
class DroppedOfSource final : public DroppedItems {
 public:
  // `known` is used as long as others keep it.
  DroppedOfSource(std::vector<Tokens> views, Names names, RunChange change,
                  const std::shared_ptr<ItemsToDrop>& known)
      : views_(std::move(views)),
        names_(names.begin(), names.end()),
        dropped_(change.dropped),
        change_(WithoutRanges(std::move(change))),
        known_(known) {}

  absl::StatusOr<std::vector<uint64_t>> IndicesIn(
      uint32_t view, uint64_t epoch) const override {
    std::shared_ptr<ItemsToDrop> dropped = known_.lock();
    if (dropped == nullptr) {
      RunChange change = change_;
      change.dropped = dropped_.ranges();
      dropped = std::make_shared<ItemsToDrop>(std::move(change));
    }
    return IndicesOf(*views_[view], names_, epoch, dropped.get());
  }

 private:
  static RunChange WithoutRanges(RunChange change) {
    change.dropped = std::vector<NumberRange>();  // gives the memory back
    return change;
  }

  const std::vector<Tokens> views_;
  const std::vector<std::string> names_;
  const CompactRanges dropped_;
  const RunChange change_;  // without its ranges
  const std::weak_ptr<ItemsToDrop> known_;
};

absl::StatusOr<Tokens> Make(const MixtureDataset<TokenWindow>& mixture,
                            const SourceBelow& source, uint64_t start,
                            const RunChange& change) {
  if (std::find(source.names.begin(), source.names.end(), "") !=
      source.names.end()) {
    return absl::InvalidArgumentError(
        "the path of the source has an empty name: '/' stands at its end, or "
        "twice");
  }
  std::vector<Tokens> views;
  for (const NamedDataset<TokenWindow>& child : mixture.named_children()) {
    if (child.name == source.component) views.push_back(child.dataset);
  }
  PONIENTE_ASSIGN_OR_RETURN(const uint32_t leaf,
                            LeafAt(*views.front(), source.names));
  const DatasetTree tree(*views.front());
  if (PackedItemsOf(*tree.leaves()[leaf].node) != nullptr) {
    return absl::InvalidArgumentError(
        "its windows are packed of whole documents, which cannot be taken out "
        "while a run goes on; mask the documents (`masked`), or retire the "
        "component instead");
  }
  // Also of a leaf from which nothing will be read: its numbers are checked.
  const auto dropped = std::make_shared<ItemsToDrop>(change);
  PONIENTE_RETURN_IF_ERROR(dropped->Of(*tree.leaves()[leaf].node).status());
  Thinning thinning(dropped.get());
  return mixture.WithDrop(
      source.component, start,
      std::make_shared<const DroppedOfSource>(views, source.names, change,
                                              dropped),
      [&](const Tokens& view) { return thinning.Of(view, source.names); });
}

}  // namespace

bool TakesAnyLength(std::string_view kind) {
  return kind == "flat_mixture" || kind == "concat" || kind == "shuffle" ||
         kind == "era_shuffle" || kind == "block_shuffle";
}

bool IsSameInEachEpoch(const DatasetNode& node) {
  if (!node.has_order()) return true;
  const std::vector<NamedNode> children = node.children();
  if (children.empty()) {
    const PiecewiseItems* const pieces = PiecesOf(node);
    return pieces != nullptr && !pieces->changes_with_epoch() &&
           PackedItemsOf(node) == nullptr;
  }
  const std::shared_ptr<const IndexMap> map = node.map();
  const std::optional<NodeIdentity> identity = node.identity();
  const auto* const order = dynamic_cast<const OrderMap*>(map.get());
  const bool adds_none = order != nullptr
                             ? !order->has_buckets()
                             : identity.has_value() && !identity->is_order;
  return adds_none && std::all_of(children.begin(), children.end(),
                                  [](const NamedNode& child) {
                                    return IsSameInEachEpoch(*child.node);
                                  });
}

absl::StatusOr<std::vector<uint64_t>> DroppedItemsOf(const DatasetNode& leaf,
                                                     const RunChange& change) {
  if (change.drops_items) {
    const uint64_t length = leaf.length_now().readable;
    if (change.dropped.back().end > length) {
      return absl::InvalidArgumentError(
          absl::StrCat("there is no item ", change.dropped.back().end - 1,
                       ", only ", length, " items"));
    }
    return NumbersOf(change.dropped);
  }
  const PiecewiseItems* const pieces = PiecesOf(leaf);
  if (pieces == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", leaf.name(),
        "' does not know its documents; drop items (windows) instead"));
  }
  PONIENTE_ASSIGN_OR_RETURN(std::vector<uint64_t> items,
                            pieces->ItemsOfEach(NumbersOf(change.dropped)));
  // Nearly always: documents are stated in their order.
  if (!std::is_sorted(items.begin(), items.end())) {
    std::sort(items.begin(), items.end());
  }
  items.erase(std::unique(items.begin(), items.end()), items.end());
  return items;
}

absl::StatusOr<Tokens> WithoutItemsOfLeaves(
    const Tokens& dataset, std::vector<std::vector<uint64_t>> items) {
  const std::vector<std::string> paths = NamePaths(*dataset);
  Tokens without = dataset;
  for (size_t leaf = 0; leaf < items.size(); ++leaf) {
    if (items[leaf].empty()) continue;
    std::vector<NumberRange> ranges;
    for (const uint64_t item : items[leaf]) ranges.push_back({item, item + 1});
    items[leaf] = {};
    ItemsToDrop dropped(RunChange::DropItems("", std::move(ranges)));
    const std::vector<std::string> names =
        absl::StrSplit(paths[leaf], '/', absl::SkipEmpty());
    PONIENTE_ASSIGN_OR_RETURN(without, Thinning(&dropped).Of(without, names));
  }
  return without;
}

absl::StatusOr<Tokens> WithoutDropped(
    const MixtureDataset<TokenWindow>& mixture, const SourceBelow& source,
    uint64_t start, const RunChange& change) {
  absl::StatusOr<Tokens> made = Make(mixture, source, start, change);
  if (made.ok()) return made;
  return Prepend(made.status(),
                 absl::StrCat("drop from component '", source.component, "'"));
}

}  // namespace poniente::internal
