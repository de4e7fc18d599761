// SPDX-License-Identifier: Apache-2.0
#include "config/tree/modifiers.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "config/tree/budget.h"
#include "poniente/packing.h"
#include "poniente/transforms.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

using Tokens = DatasetPtr<TokenWindow>;

// The windows of documents in an order, shuffled as it says.
absl::StatusOr<Tokens> ShuffledInBuckets(Tokens made, const NodeOrder& order) {
  const uint64_t items = made->length_now().readable;
  uint64_t bucket_items = order.bucket_items;
  if (order.buckets != 0 && items != 0) {
    bucket_items = (items - 1) / order.buckets + 1;
  }
  bucket_items = std::min(bucket_items, items);
  if (bucket_items < 2) return made;
  return EraShuffle(std::move(made), bucket_items);
}

// Returns whether the node asks for a shuffle by eras or chunks.
bool IsShuffledLocally(const Node& node) {
  return IsShuffled(node.shuffle) && node.shuffle->kind != ShuffleKind::kFull;
}

}  // namespace

bool IsShuffled(const std::optional<ShuffleOptions>& shuffle) {
  return shuffle.has_value() && shuffle->kind != ShuffleKind::kNone;
}

absl::StatusOr<Tokens> Modified(Tokens made, const Node& node,
                                const RunBudget* cut,
                                SelectionReader* selections, bool* located) {
  if ((node.filter.has_value() || node.order.has_value()) &&
      !made->length_now().is_final) {
    return absl::InvalidArgumentError(
        "holds a store that is still being written, so its items cannot be "
        "filtered or put into an order yet: leave filter and order out, or "
        "wait until the store is complete");
  }
  if (node.filter.has_value()) {
    const std::optional<uint64_t> length = made->CurrentLength();
    if (!length.has_value()) {
      return absl::InvalidArgumentError("an endless node cannot be filtered");
    }
    absl::StatusOr<Selection> selected =
        selections->Read(*node.filter, *length);
    *located |= !selected.ok();
    if (!selected.ok()) return selected.status();
    PONIENTE_ASSIGN_OR_RETURN(made,
                              Filter(std::move(made), *std::move(selected)));
  }
  if (node.order.has_value()) {
    absl::StatusOr<ScoreOrder> order = selections->Read(*node.order);
    *located |= !order.ok();
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
  // The documents of a packed source were cut before they were packed.
  if (cut != nullptr && PackedItemsOf(*made) == nullptr) {
    PONIENTE_ASSIGN_OR_RETURN(made, CutToBudget(std::move(made), *cut));
  }
  if (node.order_documents.has_value()) {
    PONIENTE_ASSIGN_OR_RETURN(
        made, ShuffledInBuckets(std::move(made), *node.order_documents));
  }
  if (node.repeat.has_value()) {
    PONIENTE_ASSIGN_OR_RETURN(made, Repeat(std::move(made), *node.repeat));
  }
  return made;
}

NodePosition PositionOfUsed(const Node& node, NodePosition at) {
  const bool is_mixture = Used(node).kind == NodeKind::kMixture;
  return at == NodePosition::kRoot && (is_mixture || !IsShuffledLocally(node))
             ? NodePosition::kRoot
             : NodePosition::kOther;
}

absl::Status CheckShuffledLast(const Run& run, const Node& shuffled) {
  if (shuffled.shuffle.has_value()) return absl::OkStatus();
  const std::string& name = shuffled.location.key;
  for (const Node* node = &run.data; node != &shuffled;
       node = &node->children[0]) {
    const bool stays = node->shuffle.has_value() && !IsShuffled(node->shuffle);
    if (!stays && !ChangesItems(*node)) continue;
    std::string text = absl::StrCat(
        ToString(node->location),
        stays ? " states shuffle = false, but "
              : " chooses or orders items, but ",
        name,
        ", which it uses, is shuffled before unless it states shuffle = "
        "false: state shuffle = false for ",
        name);
    // With a budget, this would be refused, too.
    if (!run.budget.has_value()) {
      absl::StrAppend(&text, ", or shuffle = true for ", name,
                      " to keep the order of earlier versions");
    }
    return absl::InvalidArgumentError(text);
  }
  return absl::OkStatus();
}

absl::StatusOr<Tokens> ShuffledIfAsked(Tokens made, const Node& node,
                                       NodePosition at) {
  if (made->has_order()) {
    if (!IsShuffledLocally(node) || node.kind == NodeKind::kFlat) return made;
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

MixtureComponent<TokenWindow> ComponentOf(const Node& node, Tokens made) {
  MixtureComponent<TokenWindow> component;
  component.name = node.name;
  component.dataset = std::move(made);
  component.weight = WeightOf(node);
  component.max_epochs = node.max_epochs;
  component.shuffle = node.shuffle.value_or(ShuffleOptions::Full());
  return component;
}

absl::Status CheckGrowth(const DatasetNode& made) {
  if (made.length_now().is_final || made.children().empty() ||
      made.map() != nullptr) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "holds a store that is still being written, but its order follows from "
      "the final length: state era_shuffle, or shuffle = false, for the store "
      "and for all nodes above it that shuffle; a mixture of such stores has "
      "one sequence length, stop = \"restart\", weights that do not follow "
      "from "
      "sizes, and for these stores no max_epochs and no thresholds");
}

absl::Status CheckGrowingComponent(const Node& component,
                                   const DatasetNode& made) {
  if (made.length_now().is_final) return absl::OkStatus();
  const ShuffleKind shuffle =
      component.shuffle.value_or(ShuffleOptions::Full()).kind;
  const bool is_local =
      shuffle == ShuffleKind::kEras || shuffle == ShuffleKind::kNone;
  if (!made.has_order() && !is_local) {
    return absl::InvalidArgumentError(
        "is still being written, and is shuffled as a whole, which needs its "
        "final length: state era_shuffle, or shuffle = false");
  }
  if (!component.max_epochs.has_value()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "is still being written, so where max_epochs ends it is not known: leave "
      "max_epochs out");
}

}  // namespace poniente::internal
