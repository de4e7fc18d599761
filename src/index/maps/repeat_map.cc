// SPDX-License-Identifier: Apache-2.0
#include "index/maps/repeat_map.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "index/int128.h"
#include "index/keyed_hash.h"
#include "index/max_samples.h"
#include "util/check.h"

namespace poniente::internal {
namespace {

constexpr uint64_t kMaxLength = uint64_t{1} << 63;

}  // namespace

absl::StatusOr<std::unique_ptr<RepeatMap>> RepeatMap::Create(
    uint64_t child_length, std::optional<uint64_t> times) {
  if (!times && child_length == 0) {
    return absl::InvalidArgumentError(
        "an empty dataset cannot be repeated without end");
  }
  if (Uint128{child_length} * times.value_or(1) > kMaxLength) {
    return absl::InvalidArgumentError(
        absl::StrCat(child_length, " items repeated ", times.value_or(1),
                     " times are more than 2^63"));
  }
  return std::unique_ptr<RepeatMap>(new RepeatMap(child_length, times));
}

std::optional<uint64_t> RepeatMap::length() const {
  if (!times_) return std::nullopt;
  return child_length_ * *times_;
}

void RepeatMap::Resolve(std::span<const Position> positions,
                        std::span<ChildPosition> out) const {
  PONIENTE_CHECK(positions.size() == out.size()) << positions.size();
  const uint64_t limit = length().value_or(kMaxSamples);
  for (size_t i = 0; i < positions.size(); ++i) {
    const Position& position = positions[i];
    PONIENTE_CHECK(position.index < limit) << position.index;
    out[i] = {0, position};
    out[i].position.index = position.index % child_length_;
    out[i].position.epoch =
        position.epoch * times_.value_or(0) + position.index / child_length_;
  }
}

std::optional<Position> RepeatMap::Find(uint32_t child,
                                        const Position& position) const {
  if (child != 0 || position.index >= child_length_ || times_ == 0) {
    return std::nullopt;
  }
  const uint64_t pass = times_ ? position.epoch % *times_ : position.epoch;
  const Uint128 index = Uint128{pass} * child_length_ + position.index;
  if (index >= length().value_or(kMaxSamples)) return std::nullopt;
  Position found = position;
  found.index = static_cast<uint64_t>(index);
  found.epoch = times_ ? position.epoch / *times_ : 0;
  return found;
}

std::optional<IndexSpan> RepeatMap::SpanBelow(uint32_t /*child*/,
                                              const IndexSpan& span) const {
  if (child_length_ == 0 || times_ == 0) return std::nullopt;
  const uint64_t most = length().value_or(kMaxSamples) - 1;
  const auto below = [&](const Position& position) {
    const uint64_t index = std::min(position.index, most);
    return Position{
        .index = index % child_length_,
        .epoch = position.epoch * times_.value_or(0) + index / child_length_};
  };
  return IndexSpan{below(span.first), below(span.last)};
}

std::optional<uint64_t> RepeatMap::PrefixParameters(
    const IndexSpan& span) const {
  if (!times_) return 0;
  const bool ends = span.last.epoch > 0 || span.last.index >= *length();
  return ends ? Derive(*times_, Tag("repeat")) : 0;
}

}  // namespace poniente::internal
