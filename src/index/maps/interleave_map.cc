// SPDX-License-Identifier: Apache-2.0
#include "index/maps/interleave_map.h"

#include <algorithm>
#include <cstddef>
#include <map>

#include "absl/strings/str_cat.h"
#include "index/maps/cumulative_lengths.h"
#include "index/part_at.h"
#include "util/check.h"
#include "util/status_macros.h"

namespace poniente::internal {

absl::StatusOr<std::unique_ptr<InterleaveMap>> InterleaveMap::Create(
    std::vector<std::optional<uint64_t>> lengths, uint64_t block_items,
    std::optional<uint64_t> rounds) {
  constexpr uint64_t kMaxBlock = uint64_t{1} << 32;
  if (block_items == 0 || block_items > kMaxBlock) {
    return absl::InvalidArgumentError(
        absl::StrCat("block_items must be from 1 to 2^32, got ", block_items));
  }
  std::vector<uint64_t> finite;
  for (const std::optional<uint64_t>& length : lengths) {
    if (length.has_value()) finite.push_back(*length);
  }
  PONIENTE_RETURN_IF_ERROR(CumulativeLengths::Create(finite).status());
  std::unique_ptr<InterleaveMap> map(
      new InterleaveMap(std::move(lengths), block_items));
  map->AddStretches();
  map->SetLength(rounds);
  return map;
}

void InterleaveMap::AddStretches() {
  struct Ending {
    uint64_t children = 0;  // that have no full block for the round any more
    uint64_t items = 0;     // that they still give to it
  };
  std::map<uint64_t, Ending> by_round;
  by_round[0];
  for (const std::optional<uint64_t>& length : lengths_) {
    if (!length.has_value()) continue;
    const uint64_t round = *length / block_items_;
    Ending& ending = by_round[round];
    ++ending.children;
    ending.items += *length % block_items_;
    by_round[round + 1];
  }
  uint64_t full = lengths_.size();
  uint64_t index = 0;
  for (const auto& [round, ending] : by_round) {
    if (!stretches_.empty()) {
      const RoundStretch& last = stretches_.back();
      index += (round - last.first_round) * last.round_items;
    }
    full -= ending.children;
    const uint64_t items = full * block_items_ + ending.items;
    if (items == 0 && !stretches_.empty()) break;  // every child has ended
    stretches_.push_back({round, index, items});
  }
}

void InterleaveMap::SetLength(std::optional<uint64_t> rounds) {
  uint64_t total = 0;
  bool is_endless = false;
  for (const std::optional<uint64_t>& length : lengths_) {
    is_endless = is_endless || !length.has_value();
    total += length.value_or(0);
  }
  if (!is_endless) length_ = total;
  if (!rounds.has_value()) return;
  const RoundStretch& last = StretchOfRound(*rounds);
  const uint64_t read =
      last.first_index + (*rounds - last.first_round) * last.round_items;
  length_ = is_endless ? read : std::min(read, total);
}

const InterleaveMap::RoundStretch& InterleaveMap::StretchOfIndex(
    uint64_t index) const {
  return PartAt(stretches_, index, &RoundStretch::first_index);
}

const InterleaveMap::RoundStretch& InterleaveMap::StretchOfRound(
    uint64_t round) const {
  return PartAt(stretches_, round, &RoundStretch::first_round);
}

uint64_t InterleaveMap::RoundOf(uint64_t index) const {
  const RoundStretch& stretch = StretchOfIndex(index);
  return stretch.first_round +
         (index - stretch.first_index) / stretch.round_items;
}

uint64_t InterleaveMap::ItemsIn(uint32_t child, uint64_t round) const {
  const std::optional<uint64_t>& length = lengths_[child];
  if (!length.has_value()) return block_items_;
  const uint64_t begin = round * block_items_;
  return *length <= begin ? 0 : std::min(*length - begin, block_items_);
}

void InterleaveMap::Resolve(std::span<const Position> positions,
                            std::span<ChildPosition> out) const {
  PONIENTE_CHECK(positions.size() == out.size()) << positions.size();
  for (size_t i = 0; i < positions.size(); ++i) {
    const uint64_t index = positions[i].index;
    PONIENTE_CHECK(!length_.has_value() || index < *length_)
        << index << " of " << *length_;
    const RoundStretch& stretch = StretchOfIndex(index);
    const uint64_t in_stretch = index - stretch.first_index;
    const uint64_t round =
        stretch.first_round + in_stretch / stretch.round_items;
    uint64_t place = in_stretch % stretch.round_items;
    uint32_t child = 0;
    if (IsFull(stretch)) {
      child = static_cast<uint32_t>(place / block_items_);
      place %= block_items_;
    } else {
      for (uint64_t items; place >= (items = ItemsIn(child, round)); ++child) {
        place -= items;
      }
    }
    out[i] = {child, positions[i]};
    out[i].position.index = round * block_items_ + place;
  }
}

std::optional<Position> InterleaveMap::Find(uint32_t child,
                                            const Position& position) const {
  if (child >= lengths_.size()) return std::nullopt;
  const std::optional<uint64_t>& length = lengths_[child];
  if (length.has_value() && position.index >= *length) return std::nullopt;
  const uint64_t round = position.index / block_items_;
  const RoundStretch& stretch = StretchOfRound(round);
  uint64_t index =
      stretch.first_index + (round - stretch.first_round) * stretch.round_items;
  if (IsFull(stretch)) {
    index += child * block_items_;
  } else {
    for (uint32_t c = 0; c < child; ++c) index += ItemsIn(c, round);
  }
  index += position.index % block_items_;
  if (length_.has_value() && index >= *length_) return std::nullopt;
  Position found = position;
  found.index = index;
  return found;
}

std::optional<IndexSpan> InterleaveMap::SpanBelow(uint32_t child,
                                                  const IndexSpan& span) const {
  if (length_ == uint64_t{0} || ItemsIn(child, 0) == 0) return std::nullopt;
  if (span.first.epoch != span.last.epoch) {
    return IndexMap::SpanBelow(child, span);
  }
  const uint64_t end = length_.value_or(UINT64_MAX);
  const uint64_t first = RoundOf(std::min(span.first.index, end - 1));
  const uint64_t last = RoundOf(std::min(span.last.index, end - 1));
  const uint64_t begin = first * block_items_;
  if (ItemsIn(child, first) == 0) return std::nullopt;
  const uint64_t behind =
      std::min(lengths_[child].value_or(UINT64_MAX), (last + 1) * block_items_);
  return IndexSpan{{.index = begin, .epoch = span.first.epoch},
                   {.index = behind - 1, .epoch = span.last.epoch}};
}

}  // namespace poniente::internal
