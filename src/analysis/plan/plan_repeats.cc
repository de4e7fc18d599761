// SPDX-License-Identifier: Apache-2.0
#include "analysis/plan/plan_repeats.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "dataset/leaf_items.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// To find a reading costs about as much as to resolve so many samples.
constexpr uint64_t kSamplesPerFind = 4;
constexpr uint64_t kMaxAtOnce = 1024;

struct TokenSpan {
  uint32_t begin;
  uint32_t end;
};

// Without the last `overlap` tokens, which the next part of an item shares.
TokenSpan SpanOf(uint32_t begin, uint32_t length, uint32_t overlap) {
  if (length == kWholeItem) return {0, std::numeric_limits<uint32_t>::max()};
  return {begin, begin + std::max(length, overlap + 1) - overlap};
}

// Whether a sample before `from` read some of it in epoch 0.
absl::StatusOr<bool> IsReadBefore(const DatasetTree& tree, uint32_t leaf,
                                  const Position& read, uint64_t from,
                                  uint32_t overlap) {
  const TokenSpan span = SpanOf(read.part_begin, read.part_length, overlap);
  PONIENTE_ASSIGN_OR_RETURN(const std::vector<FoundPart> found,
                            tree.FindParts(leaf, read.index, 0));
  return std::any_of(found.begin(), found.end(), [&](const FoundPart& part) {
    const TokenSpan other = SpanOf(part.part_begin, part.part_length, overlap);
    return part.position.epoch == 0 && part.position.index < from &&
           other.begin < span.end && span.begin < other.end;
  });
}

const LikeLeaf* LeafOf(const std::vector<LikeLeaf>& leaves, uint32_t number) {
  const auto at = std::lower_bound(
      leaves.begin(), leaves.end(), number,
      [](const LikeLeaf& leaf, uint32_t n) { return leaf.leaf < n; });
  return at != leaves.end() && at->leaf == number ? &*at : nullptr;
}

}  // namespace

bool ReadParts::Add(const LeafPosition& read) {
  const Position& at = read.position;
  const TokenSpan span = SpanOf(at.part_begin, at.part_length, overlap_);
  std::map<uint32_t, uint32_t>& spans = read_[{read.leaf, at.index}];
  const auto next = spans.lower_bound(span.begin);
  if (next != spans.end() && next->first < span.end) return false;
  if (next != spans.begin() && std::prev(next)->second > span.begin) {
    return false;
  }
  spans.emplace_hint(next, span.begin, span.end);
  return true;
}

absl::StatusOr<std::optional<Repeat>> FindRepeat(
    const DatasetTree& tree, const std::vector<LikeLeaf>& leaves, uint64_t from,
    uint64_t end, uint32_t overlap, LookUps* look_ups) {
  ReadParts read(overlap);
  std::vector<Position> positions;
  std::vector<LeafPosition> items;
  uint64_t sample = from;
  for (uint64_t count = 1; sample < end;
       count = std::min(4 * count, kMaxAtOnce)) {
    const uint64_t first = sample;
    const uint64_t until = first + std::min(count, end - first);
    if (!look_ups->Take(until - first)) return Repeat{first, false};
    positions.clear();
    for (; sample < until; ++sample) positions.push_back({.index = sample});
    items.resize(positions.size());
    PONIENTE_RETURN_IF_ERROR(tree.Resolve(positions, items));
    for (size_t i = 0; i < items.size(); ++i) {
      const LikeLeaf* const at = LeafOf(leaves, items[i].leaf);
      if (at == nullptr) continue;
      // Each epoch seats the documents anew, so windows of two epochs cannot be
      // compared: a second epoch may read documents again.
      const bool is_packed =
          PackedItemsOf(tree.leaves()[items[i].leaf]) != nullptr;
      if (is_packed && items[i].position.epoch > 0) {
        return Repeat{first + i, false};
      }
      if (!read.Add({at->first, items[i].position})) {
        return Repeat{first + i, true};
      }
      for (const LikeLeaf& like : leaves) {
        if (like.first != at->first) continue;
        if (!look_ups->Take(kSamplesPerFind)) return Repeat{first + i, false};
        PONIENTE_ASSIGN_OR_RETURN(
            const bool is_read,
            IsReadBefore(tree, like.leaf, items[i].position, from, overlap));
        if (is_read) return Repeat{first + i, true};
      }
    }
  }
  return std::nullopt;
}

}  // namespace poniente::internal
