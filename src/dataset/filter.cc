// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <string>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "index/maps/selection_map.h"
#include "poniente/transforms.h"

namespace poniente::internal {
namespace {

class FilterNodeRecipe final : public NodeRecipe {
 public:
  explicit FilterNodeRecipe(Selection selection)
      : selection_(std::move(selection)) {}

  std::string_view kind() const override { return "filter"; }
  uint64_t fingerprint() const override { return selection_.fingerprint(); }

  absl::Status CheckLengths(
      std::span<const LengthState> lengths) const override {
    const LengthState& child = lengths[0];
    if (child.is_endless) {
      return absl::InvalidArgumentError(
          "an endless dataset cannot be filtered; filter what lies below it, "
          "or Take() a finite part of it");
    }
    // A dataset that still grows may reach the expected size later.
    const uint64_t size = selection_.size();
    if (child.is_final ? child.readable == size : child.readable <= size) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        absl::StrCat("the selection is of ", size, " items, the dataset has ",
                     child.readable,
                     "; make the selection anew from scores of this dataset"));
  }

  absl::StatusOr<MadeMap> MakeMap(std::span<const LengthState>,
                                  uint64_t) const override {
    return MadeMap{std::make_shared<SelectionMap>(selection_), true};
  }

 private:
  const Selection selection_;
};

// Searches a tree for a node that serves an item at several indices, or that
// occurs twice. Returns its name and what it does.
class RepetitionFinder {
 public:
  std::optional<std::string> Find(const DatasetNode& node) {
    const std::vector<NamedNode> children = node.children();
    if (node.repeats_items() || node.length_now().is_endless) {
      return absl::StrCat("'", node.name(), "' serves an item several times");
    }
    if (children.empty() && !leaves_.insert(&node).second) {
      return absl::StrCat("'", node.name(), "' lies below it twice");
    }
    for (const NamedNode& child : children) {
      if (auto found = Find(*child.node)) return found;
    }
    return std::nullopt;
  }

 private:
  std::unordered_set<const DatasetNode*> leaves_;
};

}  // namespace

std::shared_ptr<const NodeRecipe> FilterRecipe(Selection selection) {
  return std::make_shared<FilterNodeRecipe>(std::move(selection));
}

absl::Status CheckHoldOut(const DatasetNode* dataset) {
  constexpr char kRemedy[] =
      ", so that what is held out would also be trained on; hold out of the "
      "datasets below it";
  if (dataset == nullptr) {
    return absl::InvalidArgumentError("hold-out: there is no dataset");
  }
  if (const auto repeated = RepetitionFinder().Find(*dataset)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "hold-out of '", dataset->name(), "': ", *repeated, kRemedy));
  }
  if (dataset->has_order()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "hold-out of '", dataset->name(),
        "', which has an order of its own in each epoch", kRemedy));
  }
  const LengthState length = dataset->length_now();
  if (length.is_final) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "hold-out of '", dataset->name(), "', which still grows and has ",
      length.readable, " items so far; await its FinalLength() first"));
}

absl::Status CheckHeldItems(uint64_t items, uint64_t length) {
  if (items > 0 && items < length) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("hold-out of ", items, " items of a dataset of ", length,
                   "; hold out at least 1 and leave at least 1"));
}

absl::Status CheckHeldFraction(double fraction, const Selection& held) {
  if (held.count() > 0 && held.count() < held.size()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "hold-out of the fraction ", fraction, " selects ", held.count(), " of ",
      held.size(),
      " items; hold out at least 1 and leave at least 1: state another "
      "fraction or seed, or a number of items"));
}

}  // namespace poniente::internal
