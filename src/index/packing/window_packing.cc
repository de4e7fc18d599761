// SPDX-License-Identifier: Apache-2.0
#include "index/packing/window_packing.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "index/keyed_hash.h"
#include "index/packing/packing_options.h"
#include "index/part_at.h"
#include "poniente/permutation.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr uint64_t kMaxTokens = uint64_t{1} << 60;

uint64_t BinsKey(const PackingOrder& order) {
  return Derive(order.key, Tag("bins"));
}
uint64_t ClassKey(const PackingOrder& order, uint32_t units) {
  return Derive(order.key, Tag("clas"), uint64_t{units});
}
uint64_t PlacesKey(const PackingOrder& order, uint64_t window) {
  return Derive(order.key, Tag("plac"), window);
}

uint64_t Forward(const PackingOrder& order, uint64_t n, uint64_t key,
                 uint64_t index) {
  return order.is_shuffled ? Permutation(n, key).Forward(index) : index;
}
void Forward(const PackingOrder& order, uint64_t n, uint64_t key,
             std::span<uint64_t> indices) {
  if (order.is_shuffled) Permutation(n, key).Forward(indices, indices);
}
uint64_t Inverse(const PackingOrder& order, uint64_t n, uint64_t key,
                 uint64_t place) {
  return order.is_shuffled ? Permutation(n, key).Inverse(place) : place;
}

// A length of documents, and the class of their last pieces.
struct InClass {
  uint32_t units = 0;
  uint64_t length_index = 0;
};

// Sorts by class, the largest first, and keeps the order within a class. No
// class is larger than `most` units.
void SortByClass(uint32_t most, std::vector<InClass>* members) {
  if (members->size() < most) {
    std::sort(members->begin(), members->end(),
              [](const InClass& a, const InClass& b) {
                if (a.units != b.units) return a.units > b.units;
                return a.length_index < b.length_index;
              });
    return;
  }
  // By counting: comparing 400,000 lengths takes several times as long.
  std::vector<uint32_t> next(size_t{most} + 1);
  for (const InClass& each : *members) ++next[most - each.units];
  std::exclusive_scan(next.begin(), next.end(), next.begin(), uint32_t{0});
  std::vector<InClass> sorted(members->size());
  for (const InClass& each : *members) {
    sorted[next[most - each.units]++] = each;
  }
  *members = std::move(sorted);
}

}  // namespace

PackingOrder::PackingOrder(uint64_t seed, uint64_t epoch)
    : is_shuffled(true), key(Derive(seed, Tag("pack"), epoch)) {}

PackingOrder PackingOrder::OfChunk(uint64_t chunk) const {
  PackingOrder inside = *this;
  if (is_shuffled) inside.key = Derive(key, Tag("ck"), chunk);
  return inside;
}

// A piece of a bin: a member of a class.
struct WindowPacking::Item {
  size_t class_index = 0;
  uint64_t member = 0;
};

absl::StatusOr<WindowPacking> WindowPacking::Create(
    LengthHistogram histogram, uint32_t window_tokens,
    const PackingOptions& options) {
  PONIENTE_RETURN_IF_ERROR(CheckPackingOptions(window_tokens, options));
  WindowPacking made(std::move(histogram), window_tokens, options);
  PONIENTE_RETURN_IF_ERROR(made.CheckDocuments());
  made.MakeClasses();
  made.Summarise();
  return made;
}

WindowPacking::WindowPacking(LengthHistogram histogram, uint32_t window_tokens,
                             const PackingOptions& options)
    : histogram_(std::move(histogram)),
      window_tokens_(window_tokens),
      options_(options) {
  const std::vector<uint64_t>& lengths = histogram_.lengths;
  first_long_ = static_cast<size_t>(
      std::upper_bound(lengths.begin(), lengths.end(), window_tokens) -
      lengths.begin());
}

absl::Status WindowPacking::CheckDocuments() const {
  uint64_t tokens = 0;
  for (size_t i = 0; i < histogram_.lengths.size(); ++i) {
    const uint64_t length = histogram_.lengths[i];
    if (histogram_.CountOf(i) > (kMaxTokens - tokens) / length) {
      return absl::InvalidArgumentError(
          "more than 2^60 tokens cannot be packed; split the source");
    }
    tokens += length * histogram_.CountOf(i);
  }
  const uint64_t too_long =
      histogram_.num_documents() - histogram_.starts[first_long_];
  if (options_.long_documents != LongDocuments::kRefuse || too_long == 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      too_long, " of ", histogram_.num_documents(),
      " documents are longer than a window of ", window_tokens_,
      " tokens, the longest has ", histogram_.lengths.back(),
      "; use longer windows, or state long_documents as split, truncate, "
      "truncate_left or drop"));
}

uint64_t WindowPacking::FullPiecesOf(uint64_t length) const {
  if (options_.long_documents != LongDocuments::kSplit ||
      length <= window_tokens_) {
    return 0;
  }
  // ceil((n - L) / (L - overlap)): then the last piece has at most L tokens.
  const uint64_t stride = window_tokens_ - options_.overlap;
  return CeilDivide(length - window_tokens_, stride);
}

PackedPiece WindowPacking::TailOf(uint64_t length) const {
  PackedPiece tail;
  tail.document_length = length;
  uint64_t end = length;
  if (length > window_tokens_) {
    switch (options_.long_documents) {
      case LongDocuments::kSplit:
        tail.begin =
            FullPiecesOf(length) * uint64_t{window_tokens_ - options_.overlap};
        break;
      case LongDocuments::kTruncate:
        end = window_tokens_;
        break;
      case LongDocuments::kTruncateLeft:
        tail.begin = length - window_tokens_;
        break;
      case LongDocuments::kDrop:
      case LongDocuments::kRefuse:
        end = 0;
        break;
    }
  }
  tail.length = static_cast<uint32_t>(end - tail.begin);
  return tail;
}

void WindowPacking::MakeClasses() {
  const std::vector<uint64_t>& lengths = histogram_.lengths;
  full_before_ = {0};
  for (size_t i = first_long_; i < lengths.size(); ++i) {
    num_full_ += FullPiecesOf(lengths[i]) * histogram_.CountOf(i);
    full_before_.push_back(num_full_);
  }
  // The lengths by class, the largest class first; within a class, they stay in
  // ascending order.
  std::vector<InClass> members;
  members.reserve(lengths.size());
  for (size_t i = 0; i < lengths.size(); ++i) {
    const PackedPiece tail = TailOf(lengths[i]);
    if (tail.length > 0) members.push_back({UnitsOf(tail.length), i});
  }
  SortByClass(window_tokens_ / options_.align, &members);
  std::vector<SizeClass> classes;
  segments_.reserve(members.size());
  for (const InClass& each : members) {
    if (classes.empty() || classes.back().units != each.units) {
      classes.push_back({each.units, 0});
      first_segment_.push_back(static_cast<uint32_t>(segments_.size()));
    }
    segments_.push_back({classes.back().count, each.length_index});
    classes.back().count += histogram_.CountOf(each.length_index);
  }
  first_segment_.push_back(static_cast<uint32_t>(segments_.size()));
  plan_ = std::make_shared<BinPlan>(
      std::move(classes), BinRule{.bin_units = window_tokens_ / options_.align,
                                  .parts = options_.parts,
                                  .max_pieces = options_.max_documents});
}

void WindowPacking::Summarise() {
  PackingSummary& all = summary_;
  all.windows = num_windows();
  all.window_tokens = window_tokens_;
  all.documents = histogram_.num_documents();
  all.pieces = num_full_;
  all.max_pieces = std::max<uint32_t>(num_full_ > 0, plan_->max_pieces());
  all.placed_tokens = num_full_ * window_tokens_;
  for (size_t i = 0; i < histogram_.lengths.size(); ++i) {
    const uint64_t length = histogram_.lengths[i];
    const uint64_t count = histogram_.CountOf(i);
    const PackedPiece tail = TailOf(length);
    all.tokens += length * count;
    all.placed_tokens += tail.length * count;
    all.pieces += tail.length > 0 ? count : 0;
    if (length <= window_tokens_) continue;
    if (tail.length == 0) {
      all.dropped_documents += count;
      all.dropped_tokens += length * count;
    } else if (options_.long_documents == LongDocuments::kSplit) {
      all.split_documents += count;
    } else {
      all.truncated_documents += count;
      all.truncated_tokens += (length - tail.length) * count;
    }
  }
  all.plan_bytes = plan_->memory_bytes();
  all.index_bytes = segments_.capacity() * sizeof(Segment) +
                    full_before_.capacity() * sizeof(uint64_t) +
                    histogram_.lengths.capacity() * sizeof(uint64_t) +
                    histogram_.starts.capacity() * sizeof(uint64_t);
}

size_t WindowPacking::ClassOf(uint32_t units) const {
  const std::span<const SizeClass> classes = plan_->classes();
  return static_cast<size_t>(
      std::lower_bound(classes.begin(), classes.end(), units,
                       [](const SizeClass& each, uint32_t wanted) {
                         return each.units > wanted;
                       }) -
      classes.begin());
}

// Full pieces are numbered by length, then by document, then along it.
PackedPiece WindowPacking::FullPiece(uint64_t number) const {
  const size_t at = static_cast<size_t>(
      std::upper_bound(full_before_.begin(), full_before_.end(), number) -
      full_before_.begin() - 1);
  const size_t i = first_long_ + at;
  const uint64_t each = FullPiecesOf(histogram_.lengths[i]);
  const uint64_t rest = number - full_before_[at];
  return {histogram_.starts[i] + rest / each, histogram_.lengths[i],
          rest % each * (window_tokens_ - options_.overlap), window_tokens_, 0};
}

PackedPiece WindowPacking::MemberPiece(size_t class_index,
                                       uint64_t member) const {
  const Segment& segment =
      PartAt(SegmentsOf(class_index), member, &Segment::first_member);
  PackedPiece piece = TailOf(histogram_.lengths[segment.length_index]);
  piece.ordinal =
      histogram_.starts[segment.length_index] + (member - segment.first_member);
  return piece;
}

std::vector<WindowPacking::Item> WindowPacking::ItemsOf(
    uint64_t bin, const PackingOrder& order) const {
  const BinGroup& group = plan_->GroupOf(bin);
  std::vector<Item> items(group.pieces);
  absl::InlinedVector<uint64_t, 32> members;
  plan_->ForEachNode(group, [&](const BinNode& node) {
    const size_t class_index = ClassOf(node.units);
    members.resize(node.per_bin);
    std::iota(members.begin(), members.end(),
              node.first_slot + (bin - node.first_bin) * node.per_bin);
    Forward(order, plan_->classes()[class_index].count,
            ClassKey(order, node.units), std::span<uint64_t>(members));
    for (uint32_t j = 0; j < node.per_bin; ++j) {
      items[node.before + j] = {class_index, members[j]};
    }
  });
  return items;
}

uint64_t WindowPacking::BinAt(uint64_t window,
                              const PackingOrder& order) const {
  return Forward(order, num_windows(), BinsKey(order), window);
}

void WindowPacking::ToBins(std::span<uint64_t> windows,
                           const PackingOrder& order) const {
  if (windows.empty()) return;
  Forward(order, num_windows(), BinsKey(order), windows);
}

uint64_t WindowPacking::WindowOf(uint64_t bin,
                                 const PackingOrder& order) const {
  return Inverse(order, num_windows(), BinsKey(order), bin);
}

void WindowPacking::AppendPieces(uint64_t window, const PackingOrder& order,
                                 std::vector<PackedPiece>* pieces) const {
  AppendBinPieces(BinAt(window, order), order, pieces);
}

void WindowPacking::AppendBinPieces(uint64_t bin, const PackingOrder& order,
                                    std::vector<PackedPiece>* pieces) const {
  if (bin < num_full_) {
    pieces->push_back(FullPiece(bin));
    return;
  }
  const std::vector<Item> items = ItemsOf(bin - num_full_, order);
  absl::InlinedVector<uint64_t, 32> item_at(items.size());
  std::iota(item_at.begin(), item_at.end(), 0);
  Forward(order, items.size(), PlacesKey(order, bin),
          std::span<uint64_t>(item_at));
  uint32_t offset = 0;
  for (const uint64_t i : item_at) {
    PackedPiece piece = MemberPiece(items[i].class_index, items[i].member);
    piece.offset = offset;
    offset += plan_->classes()[items[i].class_index].units * options_.align;
    pieces->push_back(piece);
  }
}

PackedPlace WindowPacking::TailPlace(uint64_t ordinal, size_t length_index,
                                     const PackedPiece& tail,
                                     const PackingOrder& order) const {
  const uint32_t units = UnitsOf(tail.length);
  const size_t class_index = ClassOf(units);
  const std::span<const Segment> segments = SegmentsOf(class_index);
  const auto segment =
      std::lower_bound(segments.begin(), segments.end(), length_index,
                       [](const Segment& each, uint64_t wanted) {
                         return each.length_index < wanted;
                       });
  const uint64_t member =
      segment->first_member + (ordinal - histogram_.starts[length_index]);
  const uint64_t slot = Inverse(order, plan_->classes()[class_index].count,
                                ClassKey(order, units), member);
  const BinPlace at = plan_->PlaceOf(class_index, slot);
  const uint64_t number = num_full_ + at.bin;

  // The units of each item of the bin, to add up those placed before this one.
  const BinGroup& group = plan_->GroupOf(at.bin);
  absl::InlinedVector<uint32_t, 32> item_units(group.pieces);
  plan_->ForEachNode(group, [&](const BinNode& node) {
    std::fill_n(item_units.begin() + node.before, node.per_bin, node.units);
  });
  const uint64_t places_key = PlacesKey(order, number);
  absl::InlinedVector<uint64_t, 32> before(
      Inverse(order, group.pieces, places_key, at.piece));
  std::iota(before.begin(), before.end(), 0);
  Forward(order, group.pieces, places_key, std::span<uint64_t>(before));
  uint32_t units_before = 0;
  for (const uint64_t item : before) units_before += item_units[item];
  return {number, tail.begin, tail.length, units_before * options_.align};
}

void WindowPacking::AppendPlaces(uint64_t ordinal, const PackingOrder& order,
                                 std::vector<PackedPlace>* places) const {
  const size_t before = places->size();
  AppendBinPlaces(ordinal, order, places);
  for (PackedPlace& place : std::span(*places).subspan(before)) {
    place.window = WindowOf(place.window, order);
  }
}

void WindowPacking::AppendBinPlaces(uint64_t ordinal, const PackingOrder& order,
                                    std::vector<PackedPlace>* places) const {
  const size_t i = histogram_.IndexOf(ordinal);
  const uint64_t length = histogram_.lengths[i];
  const PackedPiece tail = TailOf(length);
  if (const uint64_t full = FullPiecesOf(length); full > 0) {
    const uint64_t first =
        full_before_[i - first_long_] + (ordinal - histogram_.starts[i]) * full;
    const uint64_t stride = window_tokens_ - options_.overlap;
    for (uint64_t j = 0; j < full; ++j) {
      places->push_back({first + j, j * stride, window_tokens_, 0});
    }
  }
  if (tail.length == 0) return;
  places->push_back(TailPlace(ordinal, i, tail, order));
}

uint64_t WindowPacking::SquaredLengthsOfBin(uint64_t bin) const {
  if (bin < num_full_) return uint64_t{window_tokens_} * window_tokens_;
  uint64_t sum = 0;
  plan_->ForEachNode(plan_->GroupOf(bin - num_full_), [&](const BinNode& node) {
    const uint64_t length = uint64_t{node.units} * options_.align;
    sum += node.per_bin * length * length;
  });
  return sum;
}

}  // namespace poniente::internal
