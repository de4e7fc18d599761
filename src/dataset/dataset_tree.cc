// SPDX-License-Identifier: Apache-2.0
#include "poniente/dataset_tree.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dataset/joined_path.h"
#include "index/max_samples.h"
#include "index/mixture/mixture_map.h"
#include "poniente/extend/index_map_dataset.h"
#include "poniente/schedule.h"
#include "util/check.h"
#include "util/status_macros.h"

namespace poniente {
namespace {

absl::Status NotFinal(const DatasetNode& node) {
  return absl::FailedPreconditionError(
      absl::StrCat("the order of '", node.name(),
                   "' is not known until all lengths below it are final"));
}

}  // namespace

DatasetTree::DatasetTree(const DatasetNode& root) {
  Add(root, Above());
  PutAddedLast();
}

uint32_t DatasetTree::Add(const DatasetNode& node, const Above& above) {
  const auto number = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back({&node, {}, number, 0, 0});
  const std::vector<NamedNode> children = node.children();
  if (children.empty()) {
    if (above.shared == nullptr) {
      leaves_.push_back({above.path.empty() ? node.name() : above.path, &node,
                         above.is_plain});
      nodes_of_leaf_.emplace_back();
      added_.push_back(above.added);
    }
    const auto leaf = above.shared == nullptr
                          ? static_cast<uint32_t>(leaves_.size() - 1)
                          : (*above.shared)++;
    nodes_[number].leaf = leaf;
    nodes_of_leaf_[leaf].push_back(number);
  }
  const bool is_known = number == 0 && node.keeps_pieces();
  for (uint32_t place = 0; place < children.size(); ++place) {
    const NamedNode& child = children[place];
    Above below = {internal::JoinedPath(above.path, child.name),
                   above.is_plain && (is_known || !node.makes_items()),
                   std::max(above.added, child.added), above.shared};
    uint32_t next = 0;
    if (child.shares_sources) {
      const auto before = std::find_if(
          children.begin(), children.end(), [&child](const NamedNode& other) {
            return other.name == child.name && other.view + 1 == child.view;
          });
      next = FirstLeafBelow(
          nodes_[number]
              .children[static_cast<size_t>(before - children.begin())]);
      below.shared = &next;
    }
    const uint32_t made = Add(*child.node, below);
    nodes_[made].parent = number;
    nodes_[made].place = place;
    nodes_[number].children.push_back(made);
  }
  return number;
}

void DatasetTree::PutAddedLast() {
  if (std::is_sorted(added_.begin(), added_.end())) return;
  std::vector<uint32_t> order(leaves_.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [this](uint32_t a, uint32_t b) {
    return added_[a] < added_[b];
  });
  std::vector<TreeLeaf> leaves;
  std::vector<std::vector<uint32_t>> nodes_of_leaf;
  std::vector<uint32_t> numbers(order.size());  // by their number up to now
  for (const uint32_t leaf : order) {
    numbers[leaf] = static_cast<uint32_t>(leaves.size());
    leaves.push_back(std::move(leaves_[leaf]));
    nodes_of_leaf.push_back(std::move(nodes_of_leaf_[leaf]));
  }
  leaves_ = std::move(leaves);
  nodes_of_leaf_ = std::move(nodes_of_leaf);
  std::sort(added_.begin(), added_.end());
  for (Node& node : nodes_) {
    if (node.children.empty()) node.leaf = numbers[node.leaf];
  }
}

std::vector<uint32_t> DatasetTree::LeavesDepthFirst() const {
  std::vector<uint32_t> numbers;
  std::vector<bool> is_met(leaves_.size());
  for (const Node& node : nodes_) {  // which were added depth first
    if (!node.children.empty() || is_met[node.leaf]) continue;
    is_met[node.leaf] = true;
    numbers.push_back(node.leaf);
  }
  return numbers;
}

uint32_t DatasetTree::FirstLeafBelow(uint32_t number) const {
  while (!nodes_[number].children.empty()) number = nodes_[number].children[0];
  return nodes_[number].leaf;
}

absl::Status DatasetTree::Resolve(std::span<const Position> positions,
                                  std::span<LeafPosition> out) const {
  PONIENTE_CHECK(positions.size() == out.size())
      << positions.size() << " positions, room for " << out.size();
  std::vector<uint32_t> places(positions.size());
  std::iota(places.begin(), places.end(), 0u);
  return ResolveBelow(0, positions, places, out);
}

absl::Status DatasetTree::ResolveBelow(uint32_t number,
                                       std::span<const Position> positions,
                                       std::span<const uint32_t> places,
                                       std::span<LeafPosition> out) const {
  const Node& at = nodes_[number];
  if (at.children.empty()) {
    PONIENTE_RETURN_IF_ERROR(internal::CheckInRange(
        *at.node, at.node->length_now().readable, false, positions));
    for (size_t i = 0; i < positions.size(); ++i) {
      out[places[i]] = {at.leaf, positions[i]};
    }
    return absl::OkStatus();
  }
  const std::shared_ptr<const IndexMap> map = at.node->map();
  if (map == nullptr) return NotFinal(*at.node);
  PONIENTE_RETURN_IF_ERROR(internal::CheckInRange(
      *at.node, map->length(), map->has_one_epoch(), positions));
  if (at.children.size() == 1) {  // needs no groups
    const std::vector<Position> below = internal::ResolveOnly(*map, positions);
    PONIENTE_RETURN_IF_ERROR(
        internal::PrependName(map->status(), at.node->name()));
    return ResolveBelow(at.children[0], below, places, out);
  }
  const internal::ChildGroups groups(*map, positions);
  PONIENTE_RETURN_IF_ERROR(
      internal::PrependName(map->status(), at.node->name()));
  for (const internal::ChildGroup& group : groups) {
    for (uint32_t& place : group.places) place = places[place];
    PONIENTE_RETURN_IF_ERROR(ResolveBelow(at.children[group.child],
                                          group.positions, group.places, out));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Position>> DatasetTree::Find(
    const LeafPosition& item) const {
  PONIENTE_CHECK(item.leaf < leaves_.size()) << "leaf " << item.leaf;
  for (const uint32_t number : nodes_of_leaf_[item.leaf]) {
    PONIENTE_ASSIGN_OR_RETURN(const std::optional<Position> found,
                              FindFrom(number, item.position));
    if (found.has_value()) return found;
  }
  return std::nullopt;
}

absl::StatusOr<std::optional<Position>> DatasetTree::FindFrom(
    uint32_t number, Position position) const {
  if (position.index >= nodes_[number].node->length_now().readable) {
    return std::nullopt;
  }
  while (number != 0) {
    const Node& below = nodes_[number];
    const DatasetNode& parent = *nodes_[below.parent].node;
    const std::shared_ptr<const IndexMap> map = parent.map();
    if (map == nullptr) return NotFinal(parent);
    const std::optional<Position> found = map->Find(below.place, position);
    PONIENTE_RETURN_IF_ERROR(
        internal::PrependName(map->status(), parent.name()));
    if (!found.has_value()) return std::nullopt;
    position = *found;
    number = below.parent;
  }
  return position;
}

absl::StatusOr<std::vector<FoundPart>> DatasetTree::FindParts(
    uint32_t leaf, Index item, uint64_t epoch) const {
  PONIENTE_CHECK(leaf < leaves_.size()) << "leaf " << leaf;
  std::vector<FoundPart> found;
  for (const uint32_t number : nodes_of_leaf_[leaf]) {
    PONIENTE_RETURN_IF_ERROR(AppendPartsFrom(number, item, epoch, &found));
  }
  return found;
}

absl::Status DatasetTree::AppendPartsFrom(uint32_t number, Index item,
                                          uint64_t epoch,
                                          std::vector<FoundPart>* all) const {
  if (item >= nodes_[number].node->length_now().readable) {
    return absl::OkStatus();
  }
  std::vector<FoundPart> found = {
      {{.index = item, .epoch = epoch}, 0, kWholeItem}};
  for (; number != 0; number = nodes_[number].parent) {
    const Node& below = nodes_[number];
    const DatasetNode& parent = *nodes_[below.parent].node;
    const std::shared_ptr<const IndexMap> map = parent.map();
    if (map == nullptr) return NotFinal(parent);
    std::vector<FoundPart> above;
    for (const FoundPart& part : found) {
      const size_t begin = above.size();
      map->FindParts(below.place, part.position, &above);
      PONIENTE_RETURN_IF_ERROR(
          internal::PrependName(map->status(), parent.name()));
      // The bounds of a part of a part are relative to the outer part.
      for (size_t i = begin; i < above.size(); ++i) {
        above[i].part_begin += part.part_begin;
        if (above[i].part_length == kWholeItem) {
          above[i].part_length = part.part_length;
        }
      }
    }
    found = std::move(above);
  }
  all->insert(all->end(), found.begin(), found.end());
  return absl::OkStatus();
}

absl::StatusOr<std::optional<IndexSpan>> DatasetTree::SpanOf(
    uint32_t number, const IndexSpan& span) const {
  if (number == 0) return span;
  const Node& below = nodes_[number];
  PONIENTE_ASSIGN_OR_RETURN(const std::optional<IndexSpan> above,
                            SpanOf(below.parent, span));
  if (!above.has_value()) return std::nullopt;
  const DatasetNode& parent = *nodes_[below.parent].node;
  const std::shared_ptr<const IndexMap> map = parent.map();
  if (map == nullptr) return NotFinal(parent);
  return map->SpanBelow(below.place, *above);
}

absl::StatusOr<std::optional<DatasetTree::Epochs>> DatasetTree::EpochsOf(
    uint32_t leaf, const IndexSpan& span) const {
  PONIENTE_CHECK(leaf < leaves_.size()) << "leaf " << leaf;
  std::optional<Epochs> epochs;
  for (const uint32_t number : nodes_of_leaf_[leaf]) {
    PONIENTE_ASSIGN_OR_RETURN(const std::optional<IndexSpan> below,
                              SpanOf(number, span));
    if (!below.has_value()) continue;
    if (!epochs.has_value()) epochs = {below->first.epoch, below->last.epoch};
    epochs->first = std::min(epochs->first, below->first.epoch);
    epochs->last = std::max(epochs->last, below->last.epoch);
  }
  return epochs;
}

absl::Status DatasetTree::CheckEpochs(uint64_t samples,
                                      const Schedule* schedule) const {
  uint64_t end = samples;
  if (samples == 0) {
    const LengthState length = nodes_[0].node->length_now();
    end = length.is_endless ? internal::kMaxSamples : length.readable;
  }
  if (end == 0) return absl::OkStatus();
  return CheckEpochsBelow(0, "", {{.index = 0}, {.index = end - 1}}, schedule);
}

absl::Status DatasetTree::CheckEpochsBelow(uint32_t number,
                                           const std::string& path,
                                           const IndexSpan& span,
                                           const Schedule* schedule) const {
  const Node& at = nodes_[number];
  if (at.children.empty()) return absl::OkStatus();
  const std::shared_ptr<const IndexMap> map = at.node->map();
  if (map == nullptr) return absl::OkStatus();  // not yet known
  const auto* mixture = dynamic_cast<const internal::MixtureMap*>(map.get());
  if (mixture != nullptr && mixture->has_one_epoch()) {
    // UINT64_MAX stands for the end of an epoch.
    const bool is_beyond = mixture->limits_epochs() &&
                           span.last.index >= *mixture->length() &&
                           span.last.index != UINT64_MAX;
    if (is_beyond || span.last.epoch > 0) {
      std::string whole_steps;
      const bool has_sample =
          schedule != nullptr && number == 0 &&
          (schedule->steps() == 0 || *mixture->length() < schedule->samples());
      if (has_sample) {
        whole_steps = absl::StrCat(" (", schedule->StepOf(*mixture->length()),
                                   " whole steps)");
      }
      return absl::InvalidArgumentError(absl::StrCat(
          path.empty() ? "the root mixture" : absl::StrCat("'", path, "'"),
          " is drawn beyond its ", *mixture->length(), " samples", whole_steps,
          ": ", mixture->end_reason(),
          "; raise max_epochs, lower the weight, or shorten the run (with "
          "lengths or views that change, a mixture has one epoch)"));
    }
  }
  const std::vector<NamedNode> children = at.node->children();
  for (const uint32_t child : at.children) {
    const Node& below = nodes_[child];
    const std::optional<IndexSpan> drawn = map->SpanBelow(below.place, span);
    if (!drawn.has_value()) continue;
    PONIENTE_RETURN_IF_ERROR(CheckEpochsBelow(
        child, internal::JoinedPath(path, children[below.place].name), *drawn,
        schedule));
  }
  return absl::OkStatus();
}

}  // namespace poniente
