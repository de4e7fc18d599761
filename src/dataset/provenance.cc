// SPDX-License-Identifier: Apache-2.0
#include "poniente/provenance.h"

#include <numeric>

#include "absl/strings/str_cat.h"
#include "poniente/index_map_dataset.h"
#include "util/check.h"
#include "util/status_macros.h"

namespace poniente {
namespace {

absl::Status NotFinal(const DatasetNode& node) {
  return absl::FailedPreconditionError(
      absl::StrCat("the order of '", node.name(),
                   "' is not known until all lengths below it are final"));
}

std::string Joined(const std::string& path, const std::string& name) {
  if (name.empty()) return path;
  return path.empty() ? name : absl::StrCat(path, "/", name);
}

}  // namespace

DatasetTree::DatasetTree(const DatasetNode& root) { Add(root, "", true); }

uint32_t DatasetTree::Add(const DatasetNode& node, const std::string& path,
                          bool is_plain) {
  const auto number = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back({&node, {}, number, 0, 0});
  const std::vector<NamedNode> children = node.children();
  if (children.empty()) {
    nodes_[number].leaf = static_cast<uint32_t>(leaves_.size());
    leaves_.push_back({path.empty() ? node.name() : path, &node, is_plain});
    node_of_leaf_.push_back(number);
  }
  for (uint32_t place = 0; place < children.size(); ++place) {
    const NamedNode& child = children[place];
    const uint32_t below = Add(*child.node, Joined(path, child.name),
                               is_plain && !node.makes_items());
    nodes_[below].parent = number;
    nodes_[below].place = place;
    nodes_[number].children.push_back(below);
  }
  return number;
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
        *at.node, at.node->length_now().readable, positions));
    for (size_t i = 0; i < positions.size(); ++i) {
      out[places[i]] = {at.leaf, positions[i]};
    }
    return absl::OkStatus();
  }
  const std::shared_ptr<const IndexMap> map = at.node->map();
  if (map == nullptr) return NotFinal(*at.node);
  PONIENTE_RETURN_IF_ERROR(
      internal::CheckInRange(*at.node, map->length(), positions));
  const std::vector<internal::ChildGroup> groups =
      internal::GroupByChild(*map, positions);
  PONIENTE_RETURN_IF_ERROR(
      internal::PrependName(map->status(), at.node->name()));
  for (const internal::ChildGroup& group : groups) {
    std::vector<uint32_t> places_below(group.places.size());
    for (size_t i = 0; i < places_below.size(); ++i) {
      places_below[i] = places[group.places[i]];
    }
    PONIENTE_RETURN_IF_ERROR(ResolveBelow(at.children[group.child],
                                          group.positions, places_below, out));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Position>> DatasetTree::Find(
    const LeafPosition& item) const {
  PONIENTE_CHECK(item.leaf < leaves_.size()) << "leaf " << item.leaf;
  uint32_t number = node_of_leaf_[item.leaf];
  Position position = item.position;
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

}  // namespace poniente
