// SPDX-License-Identifier: Apache-2.0
#include "index/mixture/draw_table.h"

#include <algorithm>
#include <optional>

#include "index/permutation/permutation_kernels.h"

namespace poniente::internal {
namespace {

// More than any possible number of parts.
constexpr uint64_t kEndlessParts = uint64_t{1} << 63;
// Up to this many segments, a draw is compared with each, so that no branch
// depends on the draw.
constexpr size_t kFewSegments = 16;

DrawTable::Parts PartsOfShape(const OrderShape& shape) {
  DrawTable::Parts parts;
  parts.part_items = Divisor(shape.part_items);
  parts.chunk_items = Divisor(shape.chunk_items);
  parts.places = shape.places;
  parts.chunks = shape.chunks;
  parts.window_chunks = shape.part_items / shape.chunk_items;
  parts.length = shape.length;
  parts.is_eras = shape.kind == ShuffleKind::kEras;
  return parts;
}

// Returns the order of `length` items; nullopt if it has tables of up to 64
// items or other parts that no permutation kernel takes.
std::optional<DrawTable::Order> OrderOfLength(
    const std::optional<uint64_t>& length, const OrderSpec& spec) {
  using Order = DrawTable::Order;
  if (!length || spec.kind == ShuffleKind::kNone) return Order::kStored;
  if (spec.kind == ShuffleKind::kFull) {
    if (*length <= kShuffleTableSize) return std::nullopt;
    return PermutationKernel::IsOfEach(*length) ? Order::kNarrow : Order::kWide;
  }
  const OrderShape shape(*length, spec);
  const bool takes_parts =
      PermutationKernel::IsOfEach(std::min(shape.part_items, shape.places));
  const bool takes_chunks = spec.kind == ShuffleKind::kEras ||
                            PermutationKernel::IsOfEach(shape.chunks);
  if (!takes_parts || !takes_chunks) return std::nullopt;
  return Order::kParts;
}

}  // namespace

OrderSpec DrawTable::Parts::spec() const {
  if (is_eras) {
    return {.kind = ShuffleKind::kEras, .era_items = part_items.value()};
  }
  return {.kind = ShuffleKind::kBlocks,
          .chunk_items = chunk_items.value(),
          .window_chunks = window_chunks};
}

void DrawTable::Reserve(size_t components) {
  segments_.reserve(components);
  ends_.reserve(components);
  first_.reserve(components);
}

void DrawTable::Add(const ItemDraws& draws, std::span<const OrderSpec> orders,
                    std::span<const uint32_t> children) {
  first_.push_back(static_cast<uint32_t>(segments_.size()));
  for (size_t u = 0; u < draws.segments().size(); ++u) {
    const uint32_t view = draws.segments()[u].view.number;
    AddSegment(draws, u, orders[view], children[view]);
  }
  changes_ |= draws.changes();
}

void DrawTable::AddSegment(const ItemDraws& draws, size_t u,
                           const OrderSpec& spec, uint32_t child) {
  const std::span<const ItemDraws::Segment> all = draws.segments();
  const ItemDraws::Segment& from = all[u];
  const uint64_t r = from.parts.count;
  const size_t number = segments_.size();
  Segment segment;
  segment.end = u + 1 < all.size() ? all[u + 1].first_ordinal : UINT64_MAX;
  ends_.push_back(segment.end);
  const auto order = OrderOfLength(from.view.length, spec);
  if (from.is_small && order && from.dropped == nullptr) {
    segment.key = draws.key();
    // J = b_u * r + n - n_u of docs/index-math.md 2.7 is n + offset.
    segment.offset = from.base * r - from.first_ordinal;
    segment.epoch = from.epoch;
    segment.per_epoch =
        Divisor(from.view.length ? *from.view.length * r : kEndlessParts);
    segment.parts = from.parts.count;
    segment.part_length = from.parts.length;
    segment.child = child;
    segment.order = *order;
  }
  segments_.push_back(segment);
  if (segment.parts > 1) {
    cuts_.resize(number + 1);
    cuts_[number] = {Divisor(from.group * r), Divisor(r), from.group,
                     from.view.length.value_or(kEndlessParts),
                     from.parts.length - from.parts.overlap};
  }
  if (segment.order == Order::kParts) {
    parts_.resize(number + 1);
    parts_[number] = PartsOfShape(OrderShape(*from.view.length, spec));
  }
}

size_t DrawTable::NumberAmongSeveral(uint32_t component,
                                     uint64_t ordinal) const {
  const size_t first = first_[component];
  // The last segment of a component has no end.
  const size_t last =
      (component + 1 < first_.size() ? first_[component + 1] : ends_.size()) -
      1;
  if (last - first > kFewSegments) {
    return static_cast<size_t>(
        std::upper_bound(ends_.begin() + static_cast<ptrdiff_t>(first),
                         ends_.begin() + static_cast<ptrdiff_t>(last),
                         ordinal) -
        ends_.begin());
  }
  size_t number = first;
  for (size_t i = first; i < last; ++i) number += ends_[i] <= ordinal;
  return number;
}

}  // namespace poniente::internal
