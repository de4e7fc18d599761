// SPDX-License-Identifier: Apache-2.0
#include "index/packing/window_packing.h"

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "index/keyed_hash.h"
#include "index/part_at.h"
#include "poniente/permutation.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr uint64_t kMaxTokens = uint64_t{1} << 60;
constexpr uint32_t kMaxParts = 256;

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
uint64_t Inverse(const PackingOrder& order, uint64_t n, uint64_t key,
                 uint64_t place) {
  return order.is_shuffled ? Permutation(n, key).Inverse(place) : place;
}

absl::Status CheckOptions(uint32_t window_tokens,
                          const PackingOptions& options) {
  if (window_tokens == 0 || window_tokens == UINT32_MAX) {
    return absl::InvalidArgumentError(
        absl::StrCat("windows of packed documents have 1 to 2^32 - 2 tokens, "
                     "got ",
                     window_tokens));
  }
  if (options.align == 0 || window_tokens % options.align != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the alignment of packed documents must divide the window, got ",
        options.align, " for windows of ", window_tokens, " tokens"));
  }
  if (window_tokens / options.align > kMaxBinUnits) {
    return absl::InvalidArgumentError(
        absl::StrCat("windows of ", window_tokens,
                     " tokens are too long to pack documents "
                     "with an alignment of ",
                     options.align, "; make it at least ",
                     (window_tokens - 1) / kMaxBinUnits + 1));
  }
  if (options.parts == 0 || options.parts > kMaxParts) {
    return absl::InvalidArgumentError(
        absl::StrCat("parts of packed documents must be from 1 to ", kMaxParts,
                     ", got ", options.parts));
  }
  if (options.overlap > 1 || options.overlap >= window_tokens) {
    return absl::InvalidArgumentError(absl::StrCat(
        "pieces of a packed document may share 0 or 1 tokens, and fewer than a "
        "window has, got ",
        options.overlap, " for windows of ", window_tokens, " tokens"));
  }
  return absl::OkStatus();
}

}  // namespace

PackingOrder::PackingOrder(uint64_t seed, uint64_t epoch)
    : is_shuffled(true), key(Derive(seed, Tag("pack"), epoch)) {}

// Pieces `before`, `before` + 1, ... of a bin: members of one class.
struct WindowPacking::Item {
  size_t class_index = 0;
  uint64_t member = 0;
};

absl::StatusOr<WindowPacking> WindowPacking::Create(
    LengthHistogram histogram, uint32_t window_tokens,
    const PackingOptions& options) {
  PONIENTE_RETURN_IF_ERROR(CheckOptions(window_tokens, options));
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
      "; use longer windows, or split, truncate or drop long documents"));
}

uint64_t WindowPacking::FullPiecesOf(uint64_t length) const {
  if (options_.long_documents != LongDocuments::kSplit ||
      length <= window_tokens_) {
    return 0;
  }
  // ceil((n - L) / (L - overlap)): then the last piece has at most L tokens.
  const uint64_t stride = window_tokens_ - options_.overlap;
  return (length - window_tokens_ + stride - 1) / stride;
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
  // Sorts the lengths by class, the largest class first; within a class, they
  // stay in ascending order.
  struct InClass {
    uint32_t units;
    uint64_t length_index;
  };
  std::vector<InClass> members;
  members.reserve(lengths.size());
  for (size_t i = 0; i < lengths.size(); ++i) {
    const PackedPiece tail = TailOf(lengths[i]);
    if (tail.length > 0) members.push_back({UnitsOf(tail.length), i});
  }
  std::stable_sort(
      members.begin(), members.end(),
      [](const InClass& a, const InClass& b) { return a.units > b.units; });
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
  const std::span<const Segment> segments = std::span(segments_).subspan(
      first_segment_[class_index],
      first_segment_[class_index + 1] - first_segment_[class_index]);
  const Segment& segment = PartAt(segments, member, &Segment::first_member);
  PackedPiece piece = TailOf(histogram_.lengths[segment.length_index]);
  piece.ordinal =
      histogram_.starts[segment.length_index] + (member - segment.first_member);
  return piece;
}

void WindowPacking::AppendItems(uint64_t bin, const PackingOrder& order,
                                std::vector<Item>* items) const {
  const BinGroup& group = plan_->GroupOf(bin);
  const size_t first = items->size();
  items->resize(first + group.pieces);
  absl::InlinedVector<uint64_t, 32> slots;
  for (int32_t n = group.last_node; n >= 0;) {
    const BinNode& node = plan_->nodes()[static_cast<size_t>(n)];
    const size_t class_index = ClassOf(node.units);
    slots.resize(node.per_bin);
    for (uint32_t j = 0; j < node.per_bin; ++j) {
      slots[j] = node.first_slot + (bin - node.first_bin) * node.per_bin + j;
    }
    if (order.is_shuffled) {
      const Permutation seats(plan_->classes()[class_index].count,
                              ClassKey(order, node.units));
      seats.Forward(slots, std::span<uint64_t>(slots));
    }
    for (uint32_t j = 0; j < node.per_bin; ++j) {
      (*items)[first + node.before + j] = {class_index, slots[j]};
    }
    n = node.parent;
  }
}

void WindowPacking::AppendPieces(uint64_t window, const PackingOrder& order,
                                 std::vector<PackedPiece>* pieces) const {
  const uint64_t number = Forward(order, num_windows(), BinsKey(order), window);
  if (number < num_full_) {
    pieces->push_back(FullPiece(number));
    return;
  }
  std::vector<Item> items;
  AppendItems(number - num_full_, order, &items);
  absl::InlinedVector<uint64_t, 32> item_at(items.size());
  for (size_t p = 0; p < items.size(); ++p) item_at[p] = p;
  if (order.is_shuffled) {
    const Permutation places(items.size(), PlacesKey(order, number));
    places.Forward(item_at, std::span<uint64_t>(item_at));
  }
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
  const auto segments_begin = segments_.begin() + first_segment_[class_index];
  const auto segments_end = segments_.begin() + first_segment_[class_index + 1];
  const auto segment =
      std::lower_bound(segments_begin, segments_end, length_index,
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
  for (int32_t n = group.last_node; n >= 0;) {
    const BinNode& node = plan_->nodes()[static_cast<size_t>(n)];
    std::fill_n(item_units.begin() + node.before, node.per_bin, node.units);
    n = node.parent;
  }
  uint32_t units_before = 0;
  if (order.is_shuffled) {
    const Permutation places(group.pieces, PlacesKey(order, number));
    const uint64_t place = places.Inverse(at.piece);
    absl::InlinedVector<uint64_t, 32> before(place);
    for (size_t p = 0; p < place; ++p) before[p] = p;
    places.Forward(before, std::span<uint64_t>(before));
    for (const uint64_t item : before) units_before += item_units[item];
  } else {
    for (uint32_t i = 0; i < at.piece; ++i) units_before += item_units[i];
  }
  return {Inverse(order, num_windows(), BinsKey(order), number), tail.begin,
          tail.length, units_before * options_.align};
}

void WindowPacking::AppendPlaces(uint64_t ordinal, const PackingOrder& order,
                                 std::vector<PackedPlace>* places) const {
  const size_t i = histogram_.IndexOf(ordinal);
  const uint64_t length = histogram_.lengths[i];
  const PackedPiece tail = TailOf(length);
  if (const uint64_t full = FullPiecesOf(length); full > 0) {
    const uint64_t first =
        full_before_[i - first_long_] + (ordinal - histogram_.starts[i]) * full;
    const uint64_t stride = window_tokens_ - options_.overlap;
    for (uint64_t j = 0; j < full; ++j) {
      places->push_back(
          {Inverse(order, num_windows(), BinsKey(order), first + j), j * stride,
           window_tokens_, 0});
    }
  }
  if (tail.length == 0) return;
  places->push_back(TailPlace(ordinal, i, tail, order));
}

uint64_t WindowPacking::SquaredLengths(uint64_t window,
                                       const PackingOrder& order) const {
  const uint64_t number = Forward(order, num_windows(), BinsKey(order), window);
  if (number < num_full_) return uint64_t{window_tokens_} * window_tokens_;
  uint64_t sum = 0;
  for (int32_t n = plan_->GroupOf(number - num_full_).last_node; n >= 0;) {
    const BinNode& node = plan_->nodes()[static_cast<size_t>(n)];
    const uint64_t length = uint64_t{node.units} * options_.align;
    sum += node.per_bin * length * length;
    n = node.parent;
  }
  return sum;
}

}  // namespace poniente::internal

namespace poniente {
namespace {

constexpr std::array<std::string_view, 5> kPolicyNames = {
    "split", "truncate", "truncate_left", "drop", "refuse"};

}  // namespace

std::string_view LongDocumentsName(LongDocuments policy) {
  return kPolicyNames[static_cast<size_t>(policy)];
}

absl::StatusOr<LongDocuments> ParseLongDocuments(std::string_view name) {
  for (size_t i = 0; i < kPolicyNames.size(); ++i) {
    if (kPolicyNames[i] == name) return static_cast<LongDocuments>(i);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "long documents are split, truncate, truncate_left, drop or refuse, not "
      "'",
      internal::Absl(name), "'"));
}

}  // namespace poniente
