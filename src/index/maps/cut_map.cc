// SPDX-License-Identifier: Apache-2.0
#include "index/maps/cut_map.h"

#include <algorithm>
#include <cstddef>

#include "index/max_samples.h"
#include "util/check.h"

namespace poniente::internal {

absl::StatusOr<std::unique_ptr<CutMap>> CutMap::Create(
    std::optional<uint64_t> child_length, uint64_t seed,
    std::span<const PartsChange> changes, uint64_t group) {
  if (child_length == uint64_t{0}) {
    return absl::InvalidArgumentError(
        "an empty dataset cannot be read without end");
  }
  const ItemView view = {child_length, 0};
  ItemDraws draws(seed, "", view,
                  changes.empty() ? ItemParts() : changes.front().parts, group);
  for (const PartsChange& change : changes) {
    if (change.start > 0) draws.Continue(change.start, view, change.parts);
  }
  return std::unique_ptr<CutMap>(new CutMap({child_length}, std::move(draws)));
}

absl::StatusOr<std::unique_ptr<CutMap>> CutMap::CreateOfViews(
    std::span<const View> views, uint64_t seed) {
  PONIENTE_CHECK(!views.empty() && views[0].start == 0);
  std::vector<std::optional<uint64_t>> lengths;
  for (const View& view : views) {
    if (view.length == 0) {
      return absl::InvalidArgumentError(
          "an empty dataset cannot be read without end");
    }
    const ItemSets* const first = views[0].sets;
    if (view.sets == nullptr || view.sets->identity() != first->identity() ||
        view.sets->num_sets() != first->num_sets()) {
      return absl::InvalidArgumentError(
          "datasets that follow one another in an epoch must be made of the "
          "same documents in the same chunks: pack them by chunks "
          "(chunk_documents)");
    }
    lengths.push_back(view.length);
  }
  ItemDraws draws(seed, "", {views[0].length, 0});
  for (uint32_t v = 1; v < views.size(); ++v) {
    const SetChange sets = {views[v - 1].sets, views[v].sets};
    draws.Continue(views[v].start, {views[v].length, v}, ItemParts(), &sets);
  }
  return std::unique_ptr<CutMap>(
      new CutMap(std::move(lengths), std::move(draws)));
}

void CutMap::Resolve(std::span<const Position> positions,
                     std::span<ChildPosition> out) const {
  PONIENTE_CHECK(positions.size() == out.size()) << positions.size();
  for (size_t i = 0; i < positions.size(); ++i) {
    PONIENTE_CHECK(positions[i].index < kMaxSamples) << positions[i].index;
    const ItemDraws::Item item = draws_.At(positions[i].index);
    out[i].child = item.view;
    out[i].position.index = item.place;
    out[i].position.epoch = item.epoch;
    TakePart(TokensOf(item.parts, item.part), positions[i], &out[i].position);
  }
}

std::optional<Position> CutMap::Find(uint32_t child,
                                     const Position& position) const {
  if (!Has(child, position)) return std::nullopt;
  for (const ItemDraws::Reading& reading :
       draws_.ReadingsOf(child, position.epoch, position.index)) {
    if (!HoldsPart(reading, position)) continue;
    Position found = WithoutPart(reading, position);
    found.index = reading.ordinal;
    found.epoch = 0;
    return found;
  }
  return std::nullopt;
}

void CutMap::FindParts(uint32_t child, const Position& whole,
                       std::vector<FoundPart>* found) const {
  if (!Has(child, whole)) return;
  for (const ItemDraws::Reading& reading :
       draws_.ReadingsOf(child, whole.epoch, whole.index)) {
    found->push_back(FoundAt({.index = reading.ordinal}, reading));
  }
}

std::optional<IndexSpan> CutMap::SpanBelow(uint32_t child,
                                           const IndexSpan& span) const {
  const uint64_t begin = std::min(span.first.index, kMaxSamples - 1);
  const uint64_t end = std::min(span.last.index, kMaxSamples - 1) + 1;
  return draws_.SpanBetween(child, begin, end);
}

std::optional<uint64_t> CutMap::PrefixParameters(const IndexSpan& span) const {
  const ItemParts& first = draws_.parts();
  const bool is_whole = first.count == 1 && first.length == kWholeItem;
  const std::span<const ItemDraws::Segment> segments = draws_.segments();
  const bool has_changed =
      segments.size() > 1 && span.last.index >= segments[1].first_ordinal;
  if (is_whole && !has_changed) return 0;
  return IndexMap::PrefixParameters(span);
}

}  // namespace poniente::internal
