// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "index/keyed_hash.h"
#include "index/maps/group_map.h"
#include "poniente/batch_mapped_dataset.h"
#include "util/status_macros.h"

namespace poniente::internal {

std::shared_ptr<const IndexMap> MapOfBatches(const LengthState& child,
                                             const MapBatchesOptions& options) {
  std::optional<uint64_t> items;
  if (!child.is_endless) {
    items = child.readable;
    // The last group may yet grow.
    if (!child.is_final) *items -= *items % options.group_items;
  }
  return std::make_shared<GroupMap>(items, options.group_items,
                                    options.made_items);
}

absl::Status CheckGroups(std::string_view name, const DatasetNode* child,
                         const MapBatchesOptions& options) {
  constexpr uint64_t kMost = uint64_t{1} << 32;
  if (child == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("dataset '", Absl(name), "' has no dataset below it"));
  }
  if (options.group_items == 0 || options.group_items > kMost ||
      options.made_items > kMost) {
    return absl::InvalidArgumentError(absl::StrCat(
        "dataset '", Absl(name),
        "': group_items must be from 1 to 2^32 and made_items at most 2^32, "
        "got ",
        options.group_items, " and ", options.made_items));
  }
  return CheckParallel(name, options.parallel);
}

NodeIdentity GroupsIdentity(std::string_view name,
                            const MapBatchesOptions& options) {
  return {.parameters = Derive(0, Tag("groups"), name, options.group_items,
                               options.made_items)};
}

uint64_t GroupsFingerprint(std::string_view name, const DatasetNode& child,
                           const MapBatchesOptions& options) {
  return Derive(child.fingerprint(), Tag("groups"), name, options.group_items,
                options.made_items);
}

LengthState LengthOfBatches(const LengthState& child,
                            const MapBatchesOptions& options) {
  LengthState length = child;
  if (!child.is_endless) {
    length.readable = *MapOfBatches(child, options)->length();
  }
  return length;
}

uint64_t ItemsForBatches(uint64_t made, const MapBatchesOptions& options) {
  const uint64_t by_group =
      options.made_items == 0 ? options.group_items : options.made_items;
  const uint64_t groups = made / by_group + (made % by_group > 0 ? 1 : 0);
  return groups > UINT64_MAX / options.group_items
             ? UINT64_MAX
             : groups * options.group_items;
}

GroupCalls::GroupCalls(std::span<const Position> positions,
                       const LengthState& child,
                       const MapBatchesOptions& options)
    : made_by_group_(options.made_items == 0 ? options.group_items
                                             : options.made_items),
      makes_as_many_(options.made_items == 0) {
  // The calls of each group so far. An item that is asked for again needs
  // another call, since items can be moved only once.
  boost::unordered_flat_map<std::pair<uint64_t, uint64_t>, std::vector<size_t>>
      found;
  boost::unordered_flat_set<std::pair<size_t, uint64_t>> taken;
  for (size_t i = 0; i < positions.size(); ++i) {
    const uint64_t number = positions[i].index / made_by_group_;
    const uint64_t place = positions[i].index % made_by_group_;
    std::vector<size_t>& same = found[{positions[i].epoch, number}];
    size_t use = 0;
    while (use < same.size() && taken.contains({same[use], place})) ++use;
    if (use == same.size()) {
      same.push_back(calls_.size());
      calls_.push_back({.number = number, .epoch = positions[i].epoch});
    }
    taken.insert({same[use], place});
    calls_[same[use]].wanted.push_back({i, place});
  }
  for (GroupCall& call : calls_) {
    call.begin = positions_.size();
    const uint64_t first = call.number * options.group_items;
    const uint64_t end =
        std::min(first + options.group_items,
                 child.is_endless ? UINT64_MAX : child.readable);
    for (uint64_t item = first; item < end; ++item) {
      positions_.push_back({.index = item, .epoch = call.epoch});
    }
    call.size = positions_.size() - call.begin;
  }
}

absl::Status GroupCalls::AtGroup(const absl::Status& error,
                                 std::string_view name,
                                 const GroupCall& call) const {
  if (absl::IsCancelled(error)) return error;
  const uint64_t first = positions_[call.begin].index;
  return Prepend(error,
                 absl::StrCat("dataset '", Absl(name), "' group ", call.number,
                              " (items ", first, " to ", first + call.size - 1,
                              ") epoch ", call.epoch));
}

absl::Status GroupCalls::CheckMade(size_t made, std::string_view name,
                                   const GroupCall& call) const {
  const uint64_t wanted = makes_as_many_ ? call.size : made_by_group_;
  if (made == wanted) return absl::OkStatus();
  return AtGroup(absl::InternalError(absl::StrCat(
                     "the function made ", made, " items, it must make ",
                     wanted, makes_as_many_ ? ", as many as it gets" : "",
                     "; see MapBatchesOptions::made_items")),
                 name, call);
}

}  // namespace poniente::internal
