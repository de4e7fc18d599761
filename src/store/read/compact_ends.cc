// SPDX-License-Identifier: Apache-2.0
#include "store/read/compact_ends.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <numeric>

namespace poniente::internal {

void CompactEnds::Append(uint64_t length) {
  if (last_.size() == kBlock) Pack();
  last_.push_back(length);
  ++size_;
  total_ += length;
}

void CompactEnds::Pack() {
  const uint64_t greatest = *std::max_element(last_.begin(), last_.end());
  const auto width = static_cast<uint64_t>(std::bit_width(greatest));
  const uint64_t middle =
      std::accumulate(last_.begin(), last_.begin() + kBlock / 2, last_begin_);
  blocks_.push_back({last_begin_, middle, end_bit_, width});
  bits_.resize((end_bit_ + width * kBlock + 63) / 64);
  for (const uint64_t length : last_) {
    if (width == 0) break;
    const uint64_t word = end_bit_ / 64;
    const uint64_t shift = end_bit_ % 64;
    bits_[word] |= length << shift;
    if (shift + width > 64) bits_[word + 1] |= length >> (64 - shift);
    end_bit_ += width;
  }
  last_.clear();
  last_begin_ = total_;
}

void CompactEnds::Shrink() {
  blocks_.shrink_to_fit();
  bits_.shrink_to_fit();
}

uint64_t CompactEnds::Packed(const Block& block, uint64_t i) const {
  if (block.width == 0) return 0;
  const uint64_t bit = block.bit + i * block.width;
  const uint64_t shift = bit % 64;
  uint64_t value = bits_[bit / 64] >> shift;
  if (shift + block.width > 64) value |= bits_[bit / 64 + 1] << (64 - shift);
  return block.width == 64 ? value : value & ((uint64_t{1} << block.width) - 1);
}

uint64_t CompactEnds::Length(uint64_t item) const {
  const uint64_t block = item / kBlock;
  if (block == blocks_.size()) return last_[item % kBlock];
  return Packed(blocks_[block], item % kBlock);
}

uint64_t CompactEnds::Sum(const Block& block, uint64_t from,
                          uint64_t to) const {
  uint64_t sum = 0;
  for (uint64_t i = from; i < to; ++i) sum += Packed(block, i);
  return sum;
}

uint64_t CompactEnds::Begin(uint64_t item) const {
  if (item == size_) return total_;
  const uint64_t i = item % kBlock;
  if (item / kBlock == blocks_.size()) {
    return std::accumulate(
        last_.begin(), last_.begin() + static_cast<ptrdiff_t>(i), last_begin_);
  }
  // From the nearest place whose sum is known.
  constexpr uint64_t kHalf = kBlock / 2;
  const Block& block = blocks_[item / kBlock];
  if (i <= kHalf / 2) return block.begin + Sum(block, 0, i);
  if (i <= kHalf) return block.middle - Sum(block, i, kHalf);
  if (i <= kHalf + kHalf / 2) return block.middle + Sum(block, kHalf, i);
  const uint64_t next = item / kBlock + 1;
  const uint64_t end =
      next < blocks_.size() ? blocks_[next].begin : last_begin_;
  return end - Sum(block, i, kBlock);
}

uint64_t CompactEnds::At(uint64_t at) const {
  uint64_t block = blocks_.size();
  uint64_t begin = last_begin_;
  if (at < last_begin_) {
    const auto after = std::upper_bound(
        blocks_.begin(), blocks_.end(), at,
        [](uint64_t position, const Block& b) { return position < b.begin; });
    block = static_cast<uint64_t>(after - blocks_.begin()) - 1;
    begin = blocks_[block].begin;
  }
  uint64_t item = block * kBlock;
  if (at < last_begin_ && at >= blocks_[block].middle) {
    item += kBlock / 2;
    begin = blocks_[block].middle;
  }
  for (;; ++item) {
    const uint64_t length = Length(item);
    if (at < begin + length) return item;
    begin += length;
  }
}

uint64_t CompactEnds::memory_bytes() const {
  return blocks_.capacity() * sizeof(Block) +
         (bits_.capacity() + last_.capacity()) * sizeof(uint64_t);
}

}  // namespace poniente::internal
