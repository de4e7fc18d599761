// SPDX-License-Identifier: Apache-2.0
#include "index/maps/flat_map.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "util/check.h"
#include "util/status_macros.h"

namespace poniente::internal {

absl::StatusOr<std::unique_ptr<FlatMap>> FlatMap::Create(
    std::span<const uint64_t> lengths, std::span<const std::string> names,
    uint64_t seed, const OrderSpec& spec) {
  PONIENTE_CHECK(lengths.size() == names.size())
      << lengths.size() << " lengths, " << names.size() << " names";
  PONIENTE_ASSIGN_OR_RETURN(CanonicalOrder order, SortByName(names));
  std::vector<uint64_t> sorted;
  sorted.reserve(lengths.size());
  for (const uint32_t d : order.declared) sorted.push_back(lengths[d]);
  PONIENTE_ASSIGN_OR_RETURN(CumulativeLengths cumulative,
                            CumulativeLengths::Create(sorted));
  if (cumulative.total() == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "none of the ", lengths.size(), " children has any items"));
  }
  PONIENTE_RETURN_IF_ERROR(CheckOrder(spec, cumulative.total()));
  return std::unique_ptr<FlatMap>(
      new FlatMap(std::move(order), std::move(cumulative), seed, spec));
}

FlatMap::FlatMap(CanonicalOrder order, CumulativeLengths lengths, uint64_t seed,
                 const OrderSpec& spec)
    : order_(std::move(order)),
      lengths_(std::move(lengths)),
      shuffle_(lengths_.total(), seed, kFlatTag, spec) {}

void FlatMap::Resolve(std::span<const Position> positions,
                      std::span<ChildPosition> out) const {
  shuffle_.Forward(positions, out);
  for (ChildPosition& item : out) {
    const CumulativeLengths::PartIndex place =
        lengths_.Locate(item.position.index);
    item.child = order_.declared[place.part];
    item.position.index = place.index;
  }
}

std::optional<Position> FlatMap::Find(uint32_t child,
                                      const Position& position) const {
  if (child >= order_.canonical.size()) return std::nullopt;
  const std::optional<uint64_t> place =
      lengths_.IndexOf(order_.canonical[child], position.index);
  if (!place) return std::nullopt;
  Position found = position;
  found.index = shuffle_.Inverse(*place, position.epoch);
  return found;
}

}  // namespace poniente::internal
