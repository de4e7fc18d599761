// SPDX-License-Identifier: Apache-2.0
#include "index/maps/slice_map.h"

#include <algorithm>
#include <cstddef>

#include "index/keyed_hash.h"
#include "util/check.h"

namespace poniente::internal {
namespace {

// Returns the hash of what decides the items of `span`. The end of the slice
// counts only if the span reaches it.
uint64_t SlicePrefix(uint64_t begin, uint64_t length, const IndexSpan& span) {
  const bool ends = span.last.epoch > 0 || span.last.index >= length;
  if (ends) return Derive(begin, Tag("slice"), length);
  return begin == 0 ? 0 : Derive(begin, Tag("slice"));
}

}  // namespace

SliceMap::SliceMap(uint64_t begin, uint64_t end) : begin_(begin), end_(end) {
  PONIENTE_CHECK(begin <= end) << begin << ' ' << end;
}

void SliceMap::Resolve(std::span<const Position> positions,
                       std::span<ChildPosition> out) const {
  PONIENTE_CHECK(positions.size() == out.size()) << positions.size();
  for (size_t i = 0; i < positions.size(); ++i) {
    const Position& position = positions[i];
    PONIENTE_CHECK(position.index < end_ - begin_) << position.index;
    out[i] = {0, position};
    out[i].position.index += begin_;
  }
}

std::optional<Position> SliceMap::Find(uint32_t child,
                                       const Position& position) const {
  if (child != 0 || position.index < begin_ || position.index >= end_) {
    return std::nullopt;
  }
  Position found = position;
  found.index -= begin_;
  return found;
}

std::optional<IndexSpan> SliceMap::SpanBelow(uint32_t /*child*/,
                                             const IndexSpan& span) const {
  if (begin_ == end_) return std::nullopt;
  const auto below = [this](const Position& position) {
    return Position{
        .index = begin_ + std::min(position.index, end_ - begin_ - 1),
        .epoch = position.epoch};
  };
  return IndexSpan{below(span.first), below(span.last)};
}

std::optional<uint64_t> SliceMap::PrefixParameters(
    const IndexSpan& span) const {
  return SlicePrefix(begin_, end_ - begin_, span);
}

EndlessSliceMap::EndlessSliceMap(uint64_t begin, uint64_t length)
    : begin_(begin), length_(length) {
  PONIENTE_CHECK(length > 0);
}

void EndlessSliceMap::Resolve(std::span<const Position> positions,
                              std::span<ChildPosition> out) const {
  PONIENTE_CHECK(positions.size() == out.size()) << positions.size();
  for (size_t i = 0; i < positions.size(); ++i) {
    const Position& position = positions[i];
    PONIENTE_CHECK(position.index < length_) << position.index;
    out[i] = {0, position};
    out[i].position.index += begin_ + position.epoch * length_;
    out[i].position.epoch = 0;
  }
}

std::optional<Position> EndlessSliceMap::Find(uint32_t child,
                                              const Position& position) const {
  if (child != 0 || position.index < begin_ || position.epoch != 0) {
    return std::nullopt;
  }
  Position found = position;
  found.epoch = (position.index - begin_) / length_;
  found.index = (position.index - begin_) % length_;
  return found;
}

std::optional<IndexSpan> EndlessSliceMap::SpanBelow(
    uint32_t /*child*/, const IndexSpan& span) const {
  const auto below = [this](const Position& position) {
    return Position{.index = begin_ + position.epoch * length_ +
                             std::min(position.index, length_ - 1)};
  };
  return IndexSpan{below(span.first), below(span.last)};
}

std::optional<uint64_t> EndlessSliceMap::PrefixParameters(
    const IndexSpan& span) const {
  return SlicePrefix(begin_, length_, span);
}

}  // namespace poniente::internal
